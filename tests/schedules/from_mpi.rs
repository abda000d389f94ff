//! The guide's page for people who come from MPI: its tables say of every collective of MPI 4.1
//! what it is here, or why there is none.

const PAGE: &str = include_str!("../../src/guide/from_mpi.md");

/// Chapter 6: each also non-blocking and persistent.
const OF_ALL_RANKS: [&str; 17] = [
    "Barrier",
    "Bcast",
    "Gather",
    "Gatherv",
    "Scatter",
    "Scatterv",
    "Allgather",
    "Allgatherv",
    "Alltoall",
    "Alltoallv",
    "Alltoallw",
    "Reduce",
    "Allreduce",
    "Reduce_scatter_block",
    "Reduce_scatter",
    "Scan",
    "Exscan",
];

/// Chapter 8: each also non-blocking and persistent.
const OF_NEIGHBOURS: [&str; 5] =
    ["Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall", "Neighbor_alltoallv", "Neighbor_alltoallw"];

/// Names without other forms: operations, communicators, grids and graphs, partners, requests.
const OTHERS: &str = "MAX MIN SUM PROD LAND BAND LOR BOR LXOR BXOR MINLOC MAXLOC REPLACE NO_OP \
    Op_create Op_free Op_commutative Reduce_local \
    Comm_rank Comm_size Comm_compare Comm_dup Comm_dup_with_info Comm_idup Comm_idup_with_info Comm_create \
    Comm_create_group Comm_create_from_group Comm_split Comm_split_type Comm_free Comm_disconnect Comm_group \
    Comm_spawn Comm_spawn_multiple Intercomm_create Intercomm_create_from_groups Intercomm_merge \
    Dims_create Cart_create Cart_get Cartdim_get Cart_rank Cart_coords Cart_shift Cart_sub Cart_map \
    Graph_create Graphdims_get Graph_get Graph_neighbors_count Graph_neighbors Graph_map Topo_test \
    Dist_graph_create Dist_graph_create_adjacent Dist_graph_neighbors_count Dist_graph_neighbors \
    Sendrecv Sendrecv_replace Isendrecv Isendrecv_replace \
    Start Startall Test Wait Waitall Request_free Init_thread Finalize Abort";

/// The cells of the rows of all tables that begin with a name of MPI.
fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    let cells = |line: &'static str| line.split('|').map(str::trim).collect::<Vec<_>>();
    PAGE.lines().filter(|line| line.starts_with("| `MPI_")).map(cells)
}

#[test]
fn page_from_mpi_names_every_collective_of_mpi() {
    let forms = OF_ALL_RANKS
        .iter()
        .chain(&OF_NEIGHBOURS)
        .flat_map(|name| [(*name).to_owned(), format!("I{}", name.to_lowercase()), format!("{name}_init")]);
    let missing: Vec<String> = forms
        .chain(OTHERS.split_whitespace().map(str::to_owned))
        .map(|name| format!("`MPI_{name}`"))
        .filter(|name| !rows().any(|cells| cells[1].contains(&**name)))
        .collect();
    assert!(missing.is_empty(), "no row for {}", missing.join(", "));
}

#[test]
fn page_from_mpi_has_an_answer_in_every_cell() {
    for cells in rows() {
        assert!(cells.len() > 3 && cells[1..cells.len() - 1].iter().all(|cell| !cell.is_empty()), "{cells:?}");
    }
}
