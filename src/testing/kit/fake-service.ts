/**
 * An external service for tests. It records each request and each effect, and honours idempotency keys like a real one.
 * Its records are independent of cairn, so they show a second effect that a ledger would hide.
 */
import { canonical } from "../../codec/canonical.ts";
import { asJson } from "../../codec/value.ts";
import type { Probe } from "../../ports/agent.ts";
import { OutcomeUnknown } from "../../sdk/outcome.ts";

/** One request to a service. A tool's context is one. */
export interface ServiceRequest<Input = unknown> {
  readonly input: Input;
  /** The idempotency key. */
  readonly key: string;
}

/** An effect that a service has made. */
export interface ServiceEffect {
  readonly service: string;
  readonly key: string;
  readonly input: unknown;
  /** Two effects of one service with the same subject are a duplicate. */
  readonly subject: string;
  readonly result: unknown;
  /** It was undone and does not remain. */
  readonly undone: boolean;
}

/**
 * What becomes of a request. `fails`: no effect, and an error. `answerLost`: the effect happens, and the caller cannot
 * know it, as after a broken connection.
 */
export type ServiceFault = "none" | "fails" | "answerLost";

export interface FakeServiceOptions<Input, Result> {
  /** The name in messages of failed assertions. */
  readonly name: string;
  /** The result of a new effect. `nth` counts the effects from 1. */
  readonly reply: (input: Input, call: { readonly key: string; readonly nth: number }) => Result;
  /** Default true: a key that the service knows gets the first result again, and no second effect. */
  readonly honoursKeys?: boolean;
  /** Default: the whole input. */
  readonly subject?: (input: Input) => string;
  /** What becomes of request number `nth`, counted from 1. Default: `none` for all. */
  readonly fault?: (request: ServiceRequest<Input> & { readonly nth: number }) => ServiceFault;
}

export interface FakeService<Input = never, Result = unknown> {
  readonly name: string;
  /** Makes the effect. It may be a tool's `run`, or be called by it. */
  readonly call: (request: ServiceRequest<Input>) => Promise<Result>;
  /** What the service knows about a key. It may be a tool's `probe`. */
  readonly probe: (call: { readonly key: string }) => Probe;
  /** Takes back the effect of that key; does nothing if there is none. It may be the `run` of a tool's `undo`. */
  readonly undo: (context: { readonly of: { readonly key: string } }) => void;
  /** All requests, also the repeated and the failed ones, in order. */
  readonly requests: readonly ServiceRequest[];
  /** All effects in order. */
  readonly effects: readonly ServiceEffect[];
  /** Forgets everything. Each `runAgent` does so with the services that it gets. */
  readonly reset: () => void;
}

/**
 * A fake external service.
 *
 * @example
 *   const post = fakeService({ name: "post", reply: ({ to }: { to: string }, { nth }) => ({ letter: nth, to }) });
 *   const send = tool({ input: z.object({ to: z.string() }), effect: "keyed", run: post.call });
 */
export function fakeService<Input, Result>(options: FakeServiceOptions<Input, Result>): FakeService<Input, Result> {
  const { name, reply, honoursKeys = true, subject = subjectOf, fault = () => "none" as const } = options;
  const requests: ServiceRequest[] = [];
  const effects: (ServiceEffect & { readonly result: Result })[] = [];
  const known = (key: string) => effects.find((effect) => effect.key === key);
  return {
    name,
    requests,
    effects,
    call: async ({ input, key }) => {
      if (typeof key !== "string" || key === "")
        throw new TypeError(`${name} got no key: call it with { input, key }, with the key that the tool was given`);
      requests.push({ input, key });
      const befalls = fault({ input, key, nth: requests.length });
      if (befalls === "fails") throw new Error(`${name} failed`);
      const earlier = honoursKeys ? known(key) : undefined;
      const result = earlier === undefined ? reply(input, { key, nth: effects.length + 1 }) : earlier.result;
      if (earlier === undefined)
        effects.push({ service: name, key, input, subject: subject(input), result, undone: false });
      if (befalls === "answerLost") throw new OutcomeUnknown(`the answer of ${name} was lost`);
      return result;
    },
    probe: ({ key }) => {
      const effect = known(key);
      return effect === undefined ? { kind: "absent" } : { kind: "happened", result: effect.result };
    },
    undo: ({ of: { key } }) => {
      for (const [index, effect] of effects.entries()) {
        if (effect.key === key) effects[index] = { ...effect, undone: true };
      }
    },
    reset: () => {
      requests.length = 0;
      effects.length = 0;
    },
  };
}

function subjectOf(input: unknown): string {
  const parsed = asJson(input);
  return parsed.ok ? canonical(parsed.json) : String(input);
}
