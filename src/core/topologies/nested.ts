/**
 * Topologies inside a topology: a stage, a step or a drafter may run a topology of its own. The wrapper here does it for
 * any pair: it gives the observations to the inner topology, and the outer one sees its answer as one reply. The inner
 * cap counts over all of its sections, also those before a crash.
 */
import type { Failure } from "../event.ts";
import type { Json } from "../json.ts";
import { problemOfWhole } from "./problems.ts";
import type {
  Begun,
  Context,
  Move,
  Observation,
  TurnRequest,
  Shape,
  Symptom,
  TopologyModule,
  Uses,
} from "./topology.ts";

/** A topology whose sections may run another one. */
export interface Composite<O extends Shape, P extends Json> extends TopologyModule<O, P> {
  /** Every topology that its sections may run. */
  inners(options: O): readonly Shape[];
  /** The topology of the present section; null: its first reply without calls ends the section. */
  inner(progress: P, options: O): Shape | null;
  /** What opens the present section. Each section of the inner topology begins with it. */
  opening(progress: P, options: O, context: Context): string;
}

/** The progress of the inner topology. `before`: replies of its earlier sections. */
type Inner = { readonly kind: string; readonly progress: Json; readonly before: number };

/** `asked`: which of the two wants the verdicts; it is never stored. */
type Progress<P extends Json> = { readonly own: P; readonly inner: Inner | null; readonly asked?: "own" | "inner" };

type Lookup = (kind: string) => TopologyModule | null;

type Setup<O> = { readonly options: O; readonly context: Context };

/** The outer topology, and where it finds inner ones. */
interface Pair<O extends Shape, P extends Json> {
  readonly module: Composite<O, P>;
  readonly lookup: Lookup;
}

/** The composite as a topology of its own. */
export function nesting<O extends Shape, P extends Json>(
  module: Composite<O, P>,
  lookup: Lookup,
): TopologyModule<O, Progress<P>> {
  const on: Pair<O, P> = { module, lookup };
  return {
    kind: module.kind,
    checkpoint: module.checkpoint,
    problems: (options) => [...module.problems(options), ...nestedProblems(on, options)],
    uses: (options) => {
      const all = [module.uses(options), ...innersOf(on, options).map((each) => lookup(each.kind)?.uses(each))];
      const names = (what: keyof Uses) => all.flatMap((each) => each?.[what] ?? []);
      const [functions, models, tools, workers] = (["functions", "models", "tools", "workers"] as const).map(names);
      return { functions, models, tools, workers } as Uses;
    },
    begin: (options, context): Begun<Progress<P>> | null => {
      const begun = module.begin(options, context);
      return begun && { ...begun, ...open(on, begun.progress, { options, context, say: begun.say }) };
    },
    fits: ({ own, inner }, options) => {
      if (!module.fits(own, options)) return false;
      const nested = innerOf(on, own, options);
      if (inner === null || nested === null) return inner === null && nested === null;
      return inner.kind === nested.shape.kind && nested.module.fits(inner.progress, nested.shape);
    },
    request: ({ own, inner }, options) => {
      const nested = innerOf(on, own, options);
      const request = module.request(own, options);
      if (inner === null || nested === null) return request;
      return combined(request, nested.module.request(inner.progress, nested.shape));
    },
    observe: (progress, seen, setup) => observe(on, progress, { ...setup, seen }),
    refusal: ({ own, inner }, options, proposed) => {
      const outer = module.refusal?.(own, options, proposed) ?? null;
      const nested = innerOf(on, own, options);
      if (outer !== null || inner === null || nested === null) return outer;
      return nested.module.refusal?.(inner.progress, nested.shape, proposed) ?? null;
    },
    misses: (options) => module.misses(options),
    decidesAfter: (options, tool) => module.decidesAfter(options, tool),
    where: ({ own, inner }, options) => {
      const nested = innerOf(on, own, options);
      const where = module.where(own, options);
      if (inner === null || nested === null || inner.progress === null) return where;
      return `${where}; ${nested.module.where(inner.progress, nested.shape)}`;
    },
  };
}

function innerOf<O extends Shape, P extends Json>({ module, lookup }: Pair<O, P>, own: P, options: O): Nested | null {
  const shape = module.inner(own, options);
  const found = shape === null ? null : lookup(shape.kind);
  return shape === null || found === null ? null : { shape, module: found };
}

interface Nested {
  readonly shape: Shape;
  readonly module: TopologyModule;
}

/** Opens the section of `own`, and begins its inner topology. */
function open<O extends Shape, P extends Json>(
  on: Pair<O, P>,
  own: P,
  { options, context, say }: Setup<O> & { readonly say: string | undefined },
): { readonly progress: Progress<P>; readonly say: string } {
  const nested = innerOf(on, own, options);
  const begun = nested?.module.begin(nested.shape, innerContext(context, { shape: nested.shape, before: 0 })) ?? null;
  const inner = nested && { kind: nested.shape.kind, progress: begun?.progress ?? null, before: 0 };
  return { progress: { own, inner }, say: joined(say, begun?.say) };
}

/** Gives the observation to the topology that it concerns. */
function observe<O extends Shape, P extends Json>(
  on: Pair<O, P>,
  { own, inner, asked }: Progress<P>,
  setup: Setup<O> & { readonly seen: Observation },
): Move<Progress<P>> | null {
  const { seen } = setup;
  const nested = innerOf(on, own, setup.options);
  const outside = (): Move<Progress<P>> | null => lift(on, on.module.observe(own, seen, setup), { ...setup, inner });
  if (inner === null || nested === null || seen.kind === "reopened") return outside();
  const inside = (): Move<Progress<P>> | null => delegate(on, { own, inner }, { ...setup, nested });
  if (seen.kind === "verdicts") return asked === "own" ? outside() : inside();
  // The outer topology looks first: a plan may be stale, whatever its step is doing.
  const first = seen.kind === "due" ? outside() : null;
  return first ?? inside();
}

/** A move of the outer topology, with the inner one kept or begun anew. */
function lift<O extends Shape, P extends Json>(
  on: Pair<O, P>,
  move: Move<P> | null,
  setup: Setup<O> & { readonly inner: Inner | null; readonly cracks?: readonly Symptom[] },
): Move<Progress<P>> | null {
  const cracks = [...(setup.cracks ?? []), ...(move?.cracks ?? [])];
  const signals = cracks.length > 0 ? { cracks } : {};
  if (move === null) return cracks.length > 0 ? { kind: "signal", cracks } : null;
  switch (move.kind) {
    case "ask": {
      const { say, ...rest } = move;
      if (say === undefined) return { ...rest, ...signals, progress: { own: move.progress, inner: setup.inner } };
      return { ...rest, ...signals, ...open(on, move.progress, { ...setup, say }) };
    }
    case "verify":
      return { ...move, ...signals, progress: { own: move.progress, inner: setup.inner, asked: "own" } };
    case "finish": {
      const isKept = innerOf(on, move.progress, setup.options) !== null;
      return { ...move, ...signals, progress: { own: move.progress, inner: isKept ? setup.inner : null } };
    }
    default:
      return { ...move, ...signals };
  }
}

/** What the inner topology decides, as a move of the whole. */
function delegate<O extends Shape, P extends Json>(
  on: Pair<O, P>,
  { own, inner }: { readonly own: P; readonly inner: Inner },
  { seen, options, context, nested }: Setup<O> & { readonly seen: Observation; readonly nested: Nested },
): Move<Progress<P>> | null {
  const inside = innerContext(context, { shape: nested.shape, before: inner.before });
  const move = nested.module.observe(inner.progress, seen, { options: nested.shape, context: inside });
  const cracks = move?.cracks ?? [];
  const outside = (observed: Observation): Move<Progress<P>> | null =>
    lift(on, on.module.observe(own, observed, { options, context }), { options, context, inner, cracks });
  const gaveUp = (failure: Failure) => outside({ kind: "gaveUp", failure });
  const { used, max } = inside.beats;
  if (move === null || move.kind === "signal") {
    if (seen.kind !== "due" || used < max) return move;
    return gaveUp({ code: "Runaway", message: `${used} of ${max} beats are used` });
  }
  switch (move.kind) {
    case "fail":
      return gaveUp(move.failure);
    case "finish": {
      const message = move.message ?? (seen.kind === "reply" ? seen.message : "");
      return outside({ kind: "reply", message, text: context.textOf(message) });
    }
    case "verify":
      return { ...move, progress: { own, inner: { ...inner, progress: move.progress }, asked: "inner" } };
    case "ask": {
      const { say, ...rest } = move;
      const before = inner.before + (say === undefined ? 0 : context.sectionBeats);
      const progress = { own, inner: { ...inner, progress: move.progress, before } };
      if (say === undefined) return { ...rest, progress };
      return { ...rest, progress, say: joined(on.module.opening(own, options, context), say) };
    }
  }
}

const joined = (...parts: readonly (string | undefined)[]): string =>
  parts.filter((part) => part !== undefined && part !== "").join("\n\n");

const innerContext = (
  context: Context,
  { shape, before }: { readonly shape: Shape; readonly before: number },
): Context => ({ ...context, beats: { used: before + context.sectionBeats, max: shape.maxBeats } });

/** The request of the inner topology within that of the outer one: never more tools than either of them allows. */
function combined(outer: TurnRequest, inner: TurnRequest): TurnRequest {
  const instructions = joined(outer.instructions, inner.instructions);
  const model = inner.model ?? outer.model;
  const approval = inner.approval ?? outer.approval;
  const withheld = [...(outer.withheld ?? []), ...(inner.withheld ?? [])];
  return {
    role: inner.role === "react" ? outer.role : `${outer.role}/${inner.role}`,
    tools: shared(outer.tools, inner.tools),
    ...(withheld.length === 0 ? {} : { withheld }),
    ...(instructions === "" ? {} : { instructions }),
    ...(model === undefined ? {} : { model }),
    ...(approval === undefined ? {} : { approval }),
  };
}

function shared(outer: TurnRequest["tools"], inner: TurnRequest["tools"]): TurnRequest["tools"] {
  if (outer === "all") return inner;
  if (inner === "all") return outer;
  if (outer === "none" || inner === "none") return "none";
  return inner.filter((tool) => outer.includes(tool));
}

/** Options from JavaScript may be so wrong that they cannot be read; `problems` of the outer topology says so. */
function innersOf<O extends Shape, P extends Json>({ module }: Pair<O, P>, options: O): readonly Shape[] {
  return module.problems(options).length > 0 ? [] : module.inners(options);
}

function nestedProblems<O extends Shape, P extends Json>(on: Pair<O, P>, options: O): readonly string[] {
  return innersOf(on, options).flatMap((shape) => {
    const inner = on.lookup(shape.kind);
    if (inner === null) return [`it contains the unknown topology ${shape.kind}`];
    return problemOfWhole(`${shape.kind}: maxBeats`, shape.maxBeats, 1).concat(inner.problems(shape));
  });
}
