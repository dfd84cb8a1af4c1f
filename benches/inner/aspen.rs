//! A model in Aspen of 100 kB: read, checked and evaluated.
//!
//! `cargo bench -p xsim-aspen --bench aspen`

use aspen::{EvaluationRequest, Formula, LoadedModel, Number, Sources};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::fmt::Write;
use std::hint::black_box;

/// Bytes of the model.
const LENGTH: usize = 100_000;

/// Parameters that need each other, and kernels in which there is a bit of everything, as long as [`LENGTH`].
fn model() -> String {
    let mut text = "model large \
        {\n  param n = 100\n  param p0 = n\n  param values[] = {1, 2, 3, 4}\n  data x as Array(n, n, 8)\n"
        .to_owned();
    let (mut parameters, mut kernels) = (String::new(), String::new());
    let mut count = 0;
    while text.len() + parameters.len() + kernels.len() < LENGTH - 700 {
        let _ = writeln!(
            parameters,
            "  param p{} = max(p{} + 1, n * log2(p{} + 2)) / 2",
            count + 1,
            count / 2,
            count / 3
        );
        let _ = write!(
            kernels,
            "  kernel k{count}(param x) {{\n    iterate [x] {{\n      execute [n^2] \"block {count}\" \
             {{\n        loads [7 * n] of size [8] from x as stride(2)\n        flops [2 * p{count} + x * \
             n^3] as dp, simd\n        stores [n] to x\n      }}\n    }}\n    if (p{count} > 50 and x < 3) \
             {{ execute {{ flops [values[{}]] }} }} else {{ execute {{ comm [n] of size [8] as nn3d, face }} \
             }}\n  }}\n",
            count % 4
        );
        count += 1;
    }
    text += &parameters;
    text += &kernels;
    text += "  kernel main {\n";
    for kernel in 0..count {
        let _ = writeln!(text, "    call k{kernel}({})", kernel % 5);
    }
    text + "  }\n}\n"
}

fn load(text: &str) -> LoadedModel {
    let mut sources = Sources::default();
    let id = sources.add("large.aspen", text);
    LoadedModel::load(&mut sources, id).unwrap_or_else(|error| panic!("{error}"))
}

fn evaluate<N: Number>(model: &LoadedModel, parameters: &[(String, N)]) -> N {
    let LoadedModel::Application(model) = model else { panic!("a machine") };
    let found = model.evaluate(&EvaluationRequest { parameters, ..EvaluationRequest::default() }, None);
    found.unwrap_or_else(|error| panic!("{error}")).total("flops")
}

fn benchmarks(criterion: &mut Criterion) {
    let text = model();
    let mut group = criterion.benchmark_group("aspen");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("read and evaluate", |bencher| {
        bencher.iter(|| evaluate::<f64>(&load(black_box(&text)), &[]))
    });
    group.bench_function("format", |bencher| {
        let mut sources = Sources::default();
        let id = sources.add("large.aspen", text.as_str());
        bencher.iter(|| aspen::format(black_box(&sources), id));
    });
    let read = load(&text);
    group.bench_function("evaluate", |bencher| bencher.iter(|| evaluate::<f64>(black_box(&read), &[])));
    let open = [("n".to_owned(), Formula::open("n"))];
    group.bench_function("evaluate with a parameter open", |bencher| {
        bencher.iter(|| evaluate(black_box(&read), &open))
    });
}

criterion_group!(benches, benchmarks);
criterion_main!(benches);
