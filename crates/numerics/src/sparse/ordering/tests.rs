//! Orders of graphs that are easy, large, odd and broken.

use super::*;
use crate::random::Stream;
use proptest::prelude::*;

/// A matrix with this pattern.
fn with_edges(n: usize, edges: &[(usize, usize)]) -> SparseMatrix {
    let diagonal = (0..n).map(|i| (i, i, 8.0));
    let both = edges.iter().flat_map(|&(i, j)| [(i, j, -1.0), (j, i, -1.0)]);
    SparseMatrix::from_triplets(n, n, diagonal.chain(both)).unwrap()
}

/// Points of a grid with all 26 neighbours, `dofs` rows each.
fn solid([x, y, z]: [usize; 3], dofs: usize) -> SparseMatrix {
    let point = |i: usize, j: usize, k: usize| (i * y + j) * z + k;
    let mut edges = Vec::new();
    for (i, j, k) in (0..x * y * z).map(|p| (p / (y * z), p / z % y, p % z)) {
        let near = |at: usize, size: usize| at.saturating_sub(1)..(at + 2).min(size);
        for (a, b, c) in near(i, x)
            .flat_map(|a| near(j, y).flat_map(move |b| near(k, z).map(move |c| (a, b, c))))
        {
            for (p, q) in (0..dofs).flat_map(|p| (0..dofs).map(move |q| (p, q))) {
                let (row, column) = (point(i, j, k) * dofs + p, point(a, b, c) * dofs + q);
                if row > column {
                    edges.push((row, column));
                }
            }
        }
    }
    with_edges(x * y * z * dofs, &edges)
}

fn is_permutation(order: &Order, n: usize) -> bool {
    order.forward.len() == n
        && inverse(&order.forward).is_some_and(|inverse| inverse == order.inverse)
}

/// Entries of the factor of a small matrix by elimination on the pattern itself.
fn eliminated(matrix: &SparseMatrix, forward: &[u32]) -> u64 {
    let n = matrix.rows();
    let place_of = inverse(forward).unwrap();
    let mut full = vec![false; n * n];
    for (row, column, _) in matrix.triplets() {
        full[place_of[row] as usize * n + place_of[column] as usize] = true;
    }
    let mut count = n as u64;
    for k in 0..n {
        let below: Vec<usize> = (k + 1..n).filter(|i| full[i * n + k]).collect();
        count += below.len() as u64;
        for &i in &below {
            for &j in &below {
                full[i * n + j] = true;
            }
        }
    }
    count
}

#[test]
fn the_counted_fill_is_that_of_elimination() {
    let mut random = Stream::new(5, "orders");
    for matrix in [solid([4, 3, 3], 2), solid([7, 5, 1], 1), solid([30, 1, 1], 3)] {
        let graph = Graph::of(&matrix);
        let mut order: Vec<u32> = (0..graph.size() as u32).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, (random.uniform() * (last + 1) as f64) as usize);
        }
        let tree = Tree::of(&graph, order.clone());
        let rows = |order: &[u32]| -> Vec<u32> {
            order.iter().flat_map(|&vertex| graph.members[vertex as usize].clone()).collect()
        };
        let expected = eliminated(&matrix, &rows(&order));
        assert_eq!(tree.entries(&graph), expected);
        // A postorder eliminates the same.
        assert_eq!(eliminated(&matrix, &rows(&tree.postorder())), expected);
    }
}

#[test]
fn rows_of_one_node_are_one_vertex() {
    let matrix = solid([5, 4, 3], 3);
    let graph = Graph::of(&matrix);
    assert_eq!(graph.size(), 60);
    assert!(graph.members.iter().all(|rows| rows.len() == 3));
}

#[test]
fn dissection_fills_a_solid_far_less_than_minimum_degree() {
    let matrix = solid([20, 20, 20], 2);
    let graph = Graph::of(&matrix);
    let by_degree = Tree::of(&graph, graph.minimum_degree().unwrap()).entries(&graph);
    let chosen = Order::of(&matrix).unwrap();
    assert!(is_permutation(&chosen, matrix.rows()));
    // A vertex is a pair of rows here, and pairs stay together.
    let vertices: Vec<u32> = chosen.forward.iter().step_by(2).map(|row| row / 2).collect();
    let own = Tree::of(&graph, vertices).entries(&graph);
    assert!(by_degree > LITTLE_FILL, "{by_degree}");
    assert!((own as f64) < 0.8 * by_degree as f64, "{own} against {by_degree}");
    // Nothing in it is left to chance.
    assert_eq!(Order::of(&matrix).unwrap().forward, chosen.forward);
}

#[test]
fn odd_graphs_are_ordered() {
    let n = 2 * SMALL;
    let line: Vec<_> = (1..n).map(|i| (i, i - 1)).collect();
    let star: Vec<_> = (1..n).map(|i| (i, 0)).collect();
    let pieces: Vec<_> = line.iter().copied().filter(|(i, _)| i % 7 != 0).collect();
    let heavy: Vec<_> = line.iter().copied().chain((2..n).flat_map(|i| [(i, 0), (i, 1)])).collect();
    for edges in [vec![], line, star, pieces, heavy] {
        let matrix = with_edges(n, &edges);
        let graph = Graph::of(&matrix);
        for order in [graph.minimum_degree(), graph.dissection()] {
            let order = order.unwrap();
            assert!(inverse(&order).is_some() && order.len() == graph.size());
        }
        let order = Order::of(&matrix).unwrap();
        assert!(is_permutation(&order, n));
    }
    assert!(Order::of(&with_edges(1, &[])).is_none(), "small ones need no order");
    assert!(Order::of(&SparseMatrix::zeros(0, 0)).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever the pattern, both orders are permutations and count true.
    #[test]
    fn any_pattern_is_ordered(n in 1_usize..90, edges in prop::collection::vec((0_usize..90, 0_usize..90), 0..400)) {
        let edges: Vec<_> =
            edges.into_iter().map(|(i, j)| (i % n, j % n)).filter(|(i, j)| i != j).collect();
        let matrix = with_edges(n, &edges);
        let graph = Graph::of(&matrix);
        for order in [graph.minimum_degree(), graph.dissection()] {
            let order = order.unwrap();
            let tree = Tree::of(&graph, order.clone());
            let rows: Vec<u32> =
                order.iter().flat_map(|&vertex| graph.members[vertex as usize].clone()).collect();
            prop_assert!(inverse(&rows).is_some());
            prop_assert_eq!(tree.entries(&graph), eliminated(&matrix, &rows));
        }
    }
}
