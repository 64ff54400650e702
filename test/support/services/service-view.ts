/** A real server as the test kit sees an external service: by the effects that the server has made. */
import type { FakeService, ServiceEffect } from "../../../src/testing/kit/index.ts";

/** An effect, as a server records it. */
export type MadeEffect = Omit<ServiceEffect, "service" | "subject"> & { readonly subject?: string };

/** What the kit reads of a service. The tools under test call the server themselves. */
export function serviceView(of: {
  readonly name: string;
  readonly effects: () => readonly MadeEffect[];
  readonly reset: () => void;
}): FakeService<unknown> {
  const { name, effects, reset } = of;
  const made = (): readonly ServiceEffect[] =>
    effects().map((effect) => ({ subject: JSON.stringify(effect.input), ...effect, service: name }));
  const unused = (): never => {
    throw new Error(`the test calls ${name} through its server`);
  };
  return {
    name,
    reset,
    get effects() {
      return made();
    },
    requests: [],
    call: unused,
    undo: unused,
    probe: ({ key }) => {
      const effect = made().find((each) => each.key === key);
      return effect === undefined ? { kind: "absent" } : { kind: "happened", result: effect.result };
    },
  };
}

/** How many effects happened more than once: the number that has to be 0. */
export function duplicatesIn(effects: readonly Pick<ServiceEffect, "subject" | "undone">[]): number {
  const standing = effects.filter(({ undone }) => !undone).map(({ subject }) => subject);
  return standing.length - new Set(standing).size;
}
