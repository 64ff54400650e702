/**
 * External services that outlive a restore. They count effects by what was wanted (an *order*), not by key: a repeated
 * order is a second effect, however it is worded. Only the service of keyed calls deduplicates, and only by key.
 */
import { z } from "zod";
import { tool } from "../../../src/index.ts";
import type { Tool } from "../../../src/ports/agent.ts";

export const TOOLS = ["pay", "ship", "mail", "book", "write"] as const;
export type ToolName = (typeof TOOLS)[number];

export interface Services {
  /** How often the order of that tool took effect. */
  readonly effects: (tool: ToolName, order: string) => number;
  /** Every order that ever took effect, as `tool order`. */
  readonly all: () => ReadonlyMap<string, number>;
  readonly tools: Readonly<Record<ToolName, Tool>>;
}

const ORDER = z.object({ order: z.string(), words: z.string() });

export function createServices(): Services {
  const effects = new Map<string, number>();
  /** By key: what a probe and a service that deduplicates know. */
  const keys = new Set<string>();
  const act = (name: ToolName, order: string, key: string): string => {
    keys.add(`${name} ${key}`);
    const of = `${name} ${order}`;
    effects.set(of, (effects.get(of) ?? 0) + 1);
    return `${name} did ${order}`;
  };
  const probe = (name: ToolName) => (context: { readonly key: string; readonly input: { readonly order: string } }) =>
    keys.has(`${name} ${context.key}`)
      ? ({ kind: "happened", result: `${name} did ${context.input.order}` } as const)
      : ({ kind: "absent" } as const);
  const tools = {
    pay: tool({ input: ORDER, effect: "unsafe", run: ({ input, key }) => act("pay", input.order, key) }),
    // It has a business key: the order, however the model words it.
    ship: tool({
      input: ORDER,
      effect: "probed",
      key: ({ order }) => `ship-${order}`,
      run: ({ input, key }) => act("ship", input.order, key),
      probe: probe("ship"),
    }),
    // Its key derives from the arguments.
    mail: tool({
      input: ORDER,
      effect: "probed",
      run: ({ input, key }) => act("mail", input.order, key),
      probe: probe("mail"),
    }),
    book: tool({
      input: ORDER,
      effect: "keyed",
      run: ({ input, key }) => (keys.has(`book ${key}`) ? `book did ${input.order}` : act("book", input.order, key)),
    }),
    write: tool({ input: ORDER, effect: "idempotent", run: ({ input, key }) => act("write", input.order, key) }),
  } as unknown as Record<ToolName, Tool>;
  return { effects: (name, order) => effects.get(`${name} ${order}`) ?? 0, all: () => effects, tools };
}
