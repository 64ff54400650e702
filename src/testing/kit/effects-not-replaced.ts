/** What a test is told whose agent would act outside: which tools, and the line to write for each. */
import type { Effect } from "../../core/calls/effects.ts";

/** A tool that acts outside, and that nothing in the test replaces. */
export interface NotReplaced {
  /** Its name in `tools`: `sendMail`, or `worker.sendMail` for a tool of a child agent. */
  readonly name: string;
  readonly effect: Effect;
}

/** A test would have run tools that act outside. None of them has run. */
export class EffectsNotReplaced extends Error {
  override readonly name = "EffectsNotReplaced";
  readonly code = "EffectsNotReplaced";
  readonly tools: readonly NotReplaced[];

  constructor(agent: string, tools: readonly NotReplaced[]) {
    const named = tools.map(({ name, effect }) => `${name} (${effect})`).join(", ");
    const lines = tools.map(
      ({ name }) => `    ${keyFor(name)}: fakeService({ name: "${name}", reply: () => RESULT }),`,
    );
    super(
      [
        `agent ${agent} would act outside: nothing replaces ${named}, and none of them has run. Write`,
        "  tools: {",
        ...lines,
        "  },",
        "or let these tools call fake services, and pass those: services: [...]",
      ].join("\n"),
    );
    this.tools = tools;
  }
}

const keyFor = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name));
