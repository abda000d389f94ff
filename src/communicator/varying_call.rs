//! How a call with blocks of different lengths gets its plan: from the cache, or made for it.

use std::marker::PhantomData;

use bytemuck::Pod;

use super::lengths::BufferLength;
use super::persistent::Origin;
use super::varying_key::{VaryingForm, VaryingKey};
use super::varying_plan::{BlockList, VaryingCall};
use super::{Communicator, Persistent};
use crate::error::{ArgumentError, CallError, Error};
use crate::plan::Reduction;

impl Communicator {
    /// Executes a call. Its plan is taken from the cache, or kept there if it does not depend on
    /// what the others call.
    pub(super) fn call_varying<T: Pod>(
        &mut self,
        form: VaryingForm<'_>,
        send: &[T],
        receive: &mut [T],
        reduction: Option<&dyn Reduction>,
    ) -> Result<(), CallError> {
        let (input, output) = (bytemuck::cast_slice(send), bytemuck::cast_slice_mut(receive));
        if self.using.is_some() || !self.varying.find_by(|key| key.is(&form)) {
            let key = self.listed(&form)?;
            let (mut planned, is_local) = self.plan_varying(call(&key, false))?;
            if self.using.is_some() || !is_local {
                return Ok(self.context.execute(&mut planned, input, output, reduction)?);
            }
            self.varying.insert(key, planned);
        }
        let lost = || Error::Internal("a plan just made is not in the cache".into());
        let planned = self.varying.last().ok_or_else(lost)?;
        Ok(self.context.execute(planned, input, output, reduction)?)
    }

    /// Plans a call as a persistent plan.
    pub(super) fn varying_init<T: Pod>(
        &mut self,
        form: VaryingForm<'_>,
        reduction: Option<Box<dyn Reduction + Send + Sync>>,
    ) -> Result<Persistent<T>, CallError> {
        let key = self.listed(&form)?;
        self.varying_persistent(key, reduction)
    }

    /// Plans a call whose blocks are listed as a persistent plan.
    pub(super) fn varying_persistent<T: Pod>(
        &mut self,
        key: VaryingKey,
        reduction: Option<Box<dyn Reduction + Send + Sync>>,
    ) -> Result<Persistent<T>, CallError> {
        let call = call(&key, true);
        let (sent, received) = (if key.in_place { 0 } else { call.send.length }, call.receive.length);
        Ok(Persistent {
            planned: self.plan_varying(call)?.0,
            owner: self.context.communicator(),
            send: BufferLength::AtLeast(sent),
            receive: BufferLength::AtLeast(received),
            reduction,
            origin: Origin::Varying(key),
            of: PhantomData,
        })
    }

    /// Lists the blocks to send and to receive.
    fn listed(&self, form: &VaryingForm<'_>) -> Result<VaryingKey, ArgumentError> {
        let (send, receive) = (form.send.list("send", self.size())?, form.receive.list("receive", self.size())?);
        Ok(VaryingKey::of(form, send, receive))
    }
}

/// Describes a call to its planner.
fn call(key: &VaryingKey, persistent: bool) -> VaryingCall<'_> {
    let VaryingKey { name, ref collective, element, lengths, in_place, ref op, ref send, ref receive } = *key;
    let (mut send, mut receive) =
        (BlockList::new("send", send, lengths.0), BlockList::new("receive", receive, lengths.1));
    if in_place {
        let length = send.length.max(receive.length);
        (send.length, receive.length) = (length, length);
    }
    let (collective, op, known) = (collective.clone(), op.clone(), key.known());
    VaryingCall { name, collective, element, send, receive, in_place, persistent, known, op }
}
