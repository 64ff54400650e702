/** The worst values that user code may return or throw, by name and created anew for each use. */
import fc from "fast-check";

type Made = readonly [name: string, make: () => unknown];

/** Nested lists. */
export function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

function revoked<T extends object>(target: T): T {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

/** A proxy on which every operation throws. */
const thorny = (target: object, thrown: unknown): object => {
  const refuse = (): never => {
    throw thrown;
  };
  const traps = Object.getOwnPropertyNames(Reflect).map((name) => [name, refuse] as const);
  return new Proxy(target, Object.fromEntries(traps));
};

/** An object on which reading any of these names throws. */
function guarded<T extends object>(target: T, names: readonly string[], thrown: unknown = null): T {
  const get = (): never => {
    throw thrown;
  };
  for (const name of names) Object.defineProperty(target, name, { get, enumerable: true, configurable: true });
  return target;
}

function circular(): unknown {
  const value: { self?: unknown } = {};
  value.self = [value];
  return value;
}

/** Values that a tool may return and that are not JSON. */
export const HOSTILE_VALUES: readonly Made[] = [
  ["2,000 levels", () => nested(2_000)],
  ["4,000 levels in a field", () => ({ a: nested(4_000) })],
  ["a circle", circular],
  ["a revoked proxy", () => revoked({})],
  ["a revoked list", () => revoked([])],
  ["a proxy that throws null", () => thorny({}, null)],
  ["a field that throws", () => guarded({}, ["a"])],
  ["a toJSON that throws a revoked proxy", () => guarded({}, ["toJSON"], revoked({}))],
  ["a constructor that throws", () => guarded(new Map(), ["constructor"])],
  ["an error that throws", () => guarded(new Error("x"), ["message", "name", "stack"])],
  ["a promise of nothing in a field", () => ({ a: Promise.resolve() })],
  ["a gap", () => Array.from({ length: 2 }).concat(1)],
  ["an endless list", () => Object.assign([], { length: 2 ** 32 - 1 })],
  ["a bigint", () => 1n],
  ["a symbol", () => Symbol("x")],
];

/** Values that a tool may throw. */
export const HOSTILE_ERRORS: readonly Made[] = [
  ["null", () => null],
  ["undefined", () => undefined],
  ["a symbol", () => Symbol("x")],
  ["an object without words", () => Object.create(null) as unknown],
  ["a revoked proxy", () => revoked({})],
  ["a revoked error", () => revoked(new Error("x"))],
  ["a proxy that throws itself", () => thorny(new Error("x"), revoked({}))],
  ["an error that throws null", () => guarded(new Error("x"), ["message", "name", "stack", "cause", "code"])],
  ["an error whose message is no text", () => Object.assign(new Error("x"), { message: { no: "text" } })],
  ["an error whose name is no text", () => Object.assign(new Error("x"), { name: 5n, message: "" })],
  ["words that throw", () => guarded({}, ["toString", "toJSON"])],
  ["a toString that is none", () => ({ toString: 5, valueOf: 5 })],
  ["2,000 levels", () => nested(2_000)],
  ["4,000 causes", () => Array.from({ length: 4_000 }).reduce((cause) => new Error("x", { cause }), null)],
  ["its own cause", () => circularError()],
];

function circularError(): Error {
  const error = new Error("x");
  error.cause = error;
  return error;
}

const any = fc.anything({
  ...{ withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true },
  ...{ withNullPrototype: true, withObjectString: true, withSparseArray: true, withBoxedValues: true },
});

/** Creates the value where it is used, because a library that reads such a value throws, too. */
type Maker = () => unknown;

const oneOf = (...tables: readonly (readonly Made[])[]): fc.Arbitrary<Maker> =>
  fc.constantFrom(...tables.flat().map(([, make]) => make));

/** Any value, with hostile values at any place in it. */
export const hostileValue: fc.Arbitrary<Maker> = fc
  .tuple(any, oneOf(HOSTILE_VALUES), fc.nat({ max: 3 }))
  .map(([value, worst, place]) => () => {
    const places = [() => value, worst, () => ({ value, worst: worst() }), () => [[value], { worst: worst() }]];
    return places[place]?.();
  });

export const hostileError: fc.Arbitrary<Maker> = fc.oneof(
  oneOf(HOSTILE_ERRORS, HOSTILE_VALUES),
  any.map((value) => () => value),
);
