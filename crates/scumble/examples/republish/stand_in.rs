//! Temporary.
use hashbrown::HashMap;
use scumble::inference::{Evidence, Source};

pub fn possible(evidence: &Evidence, truth: &[u32]) -> Vec<bool> {
    let kind_of = evidence.kind_of();
    let n = evidence.outcomes().len();
    let mut possible = vec![true; n];
    let used: Vec<bool> = (0..n).map(|o| evidence.outcomes()[o].value == truth[kind_of[o] as usize]).collect();
    let facts = evidence.facts().len();
    let group = |f: u32| match evidence.facts()[f as usize].source {
        Source::Published { release, group, .. } => (release, group),
        Source::Known(_) => unreachable!(),
    };
    let releases = evidence.facts_of(0).len();
    loop {
        let before = possible.iter().filter(|p| **p).count();
        // Between releases.
        for r in 1..releases {
            let edges: Vec<(u32, u32, u32)> = (0..n as u32)
                .filter(|&o| possible[o as usize])
                .map(|o| {
                    let f = evidence.facts_of(o);
                    let (a, b) = (f[r - 1], f[r]);
                    if used[o as usize] { (b, a, o) } else { (a, b, o) }
                })
                .collect();
            cut(facts, &edges, &used, &mut possible);
        }
        // Inside groups: people and values; all groups of a release at once.
        for r in 0..releases {
            let mut nodes: HashMap<(u32, u32), u32> = HashMap::new();
            let mut edges = Vec::new();
            for o in (0..n as u32).filter(|&o| possible[o as usize]) {
                let f = evidence.facts_of(o)[r];
                let (_, g) = group(f);
                let len = nodes.len() as u32;
                let k = *nodes.entry((g, kind_of[o as usize])).or_insert(len);
                let (a, b) = (facts as u32 + k, f);
                edges.push(if used[o as usize] { (b, a, o) } else { (a, b, o) });
            }
            cut(facts + nodes.len(), &edges, &used, &mut possible);
        }
        // A certain person has no other outcome.
        for kind in 0..evidence.kinds().len() as u32 {
            let _ = kind;
        }
        if possible.iter().filter(|p| **p).count() == before {
            return possible;
        }
    }
}

fn cut(nodes: usize, edges: &[(u32, u32, u32)], used: &[bool], possible: &mut [bool]) {
    let mut first = vec![0u32; nodes + 1];
    edges.iter().for_each(|e| first[e.0 as usize + 1] += 1);
    (0..nodes).for_each(|i| first[i + 1] += first[i]);
    let mut next = first.clone();
    let mut to = vec![0u32; edges.len()];
    for e in edges {
        to[next[e.0 as usize] as usize] = e.1;
        next[e.0 as usize] += 1;
    }
    // Tarjan.
    let mut index = vec![u32::MAX; nodes];
    let mut low = vec![0u32; nodes];
    let mut comp = vec![u32::MAX; nodes];
    let (mut stack, mut call, mut counter, mut comps) = (Vec::new(), Vec::new(), 0u32, 0u32);
    for root in 0..nodes as u32 {
        if index[root as usize] != u32::MAX {
            continue;
        }
        call.push((root, first[root as usize]));
        while let Some(&mut (v, ref mut at)) = call.last_mut() {
            let v = v as usize;
            if index[v] == u32::MAX {
                index[v] = counter;
                low[v] = counter;
                counter += 1;
                stack.push(v as u32);
            }
            if *at < first[v + 1] {
                let w = to[*at as usize] as usize;
                *at += 1;
                if index[w] == u32::MAX {
                    call.push((w as u32, first[w]));
                } else if comp[w] == u32::MAX {
                    low[v] = low[v].min(index[w]);
                }
                continue;
            }
            call.pop();
            if let Some(&(p, _)) = call.last() {
                low[p as usize] = low[p as usize].min(low[v]);
            }
            if low[v] == index[v] {
                loop {
                    let w = stack.pop().expect("v") as usize;
                    comp[w] = comps;
                    if w == v {
                        break;
                    }
                }
                comps += 1;
            }
        }
    }
    // An unused edge between components is impossible.
    for &(a, b, o) in edges {
        if comp[a as usize] != comp[b as usize] && !used[o as usize] {
            possible[o as usize] = false;
        }
    }
}
