/** Tools that declare what they return: a result is kept as the schema parses it, and a misfit has a name. */
import { expect, test } from "vitest";
import { z } from "zod";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import { checkAgent } from "../../../src/sdk/check.ts";
import { AgentInvalid, defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import { ledger, show } from "../../../src/operations/views.ts";
import { beginRun, createLocalHarness, drive, runnerOf } from "../../support/harness/drive.ts";

/** Books one seat; `output` is what its tool declares, `book` what it does. */
function booking(effect: Tool["effect"], output: z.ZodType, book: () => unknown, more: Partial<Tool> = {}): Agent {
  const book_ = { ...tool({ input: z.object({}), effect, run: book, ...more }), output } as Tool;
  return defineAgent({
    name: "booking",
    version: "1",
    instructions: "",
    task: z.object({}),
    model: scriptedModel({
      name: "script",
      reply: ({ calls: [call] }) =>
        call === undefined ? { calls: [{ tool: "book", args: {} }] } : { text: JSON.stringify(call) },
    }),
    tools: { book: book_ },
  }) as Agent;
}

async function outcomeOf(agent: Agent) {
  const { world } = createLocalHarness();
  const { run, route } = await drive(runnerOf(world, agent), await beginRun(world, agent, {}));
  expect(route).toBe("done");
  const [entry] = (await ledger(world, run)) ?? [];
  const { outcome, result } = JSON.parse(String((await show(world, run))?.result)) as {
    outcome: string;
    result: unknown;
  };
  return { entry, outcome, result };
}

const SEAT = z.object({ seat: z.string(), at: z.date().transform((at) => at.toISOString()) });

test("stores a result as the schema parses it", async () => {
  const agent = booking("keyed", SEAT, () => ({ seat: "4A", at: new Date(5), internal: "x" }), {
    externalId: (json) => (json as { readonly seat: string }).seat,
  });
  expect(await outcomeOf(agent)).toMatchObject({
    entry: { status: "succeeded", externalId: "4A" },
    outcome: "succeeded",
    result: { seat: "4A", at: "1970-01-01T00:00:00.005Z" },
  });
  expect(JSON.stringify((await outcomeOf(agent)).result)).not.toContain("internal");
});

test.each(["keyed", "unsafe"] as const)(
  "reports a result of a %s tool that does not fit, and the call has succeeded",
  async (effect) => {
    const { entry, outcome, result } = await outcomeOf(booking(effect, SEAT, () => ({ seat: 4, at: new Date(5) })));
    expect(entry).toMatchObject({
      status: "succeeded",
      evidence: "the tool returned, and its result is lost: ResultInvalid",
    });
    expect(outcome).toBe("succeeded");
    expect(result).toMatch(
      /^ResultInvalid: what the tool returned does not fit the output that its tool declares: seat: /,
    );
  },
);

test("fails a call without an effect when its result does not fit", async () => {
  const { entry, outcome, result } = await outcomeOf(booking("none", z.string(), () => 4));
  expect({ status: entry?.status, outcome }).toEqual({ status: "failed", outcome: "failed" });
  expect(result).toMatch(/^ResultInvalid: .*: result: Invalid input: expected string, received number$/);
});

test.each<readonly [string, z.ZodType, string]>([
  [
    "throws",
    z.any().transform(() => {
      throw null as unknown as Error;
    }),
    "ResultInvalid: .*its schema threw: null",
  ],
  ["waits for a promise", z.any().refine(() => Promise.resolve(true)), "ResultInvalid: .*that returns a promise"],
  ["makes of it what is not JSON", z.any().transform(() => new Map()), "ResultRefused: .*a Map is not JSON"],
])("a schema that %s loses the result and nothing else", async (_, output, words) => {
  const { entry, result } = await outcomeOf(booking("unsafe", output, () => "sent"));
  expect(entry?.status).toBe("succeeded");
  expect(result).toMatch(new RegExp(words));
});

test("applies the schema also to the result of a probe and of an error", async () => {
  const throws = (): never => {
    throw new Error("exists");
  };
  const agent = booking("keyed", z.string(), throws, { onExists: () => ({ seat: "4A" }) });
  const { entry, result } = await outcomeOf(agent);
  expect(entry?.status).toBe("reconciled");
  expect(result).toMatch(/^ResultInvalid: what the external service returned does not fit the output/);
});

test("an output that is not a schema is refused before any run", () => {
  const agent = (output: unknown) => booking("none", output as z.ZodType, () => "x");
  expect(() => agent("a text")).toThrow(AgentInvalid);
  expect(() => agent("a text")).toThrow('has output "a text": write a zod schema');
  const { limits } = createLocalHarness().world;
  expect(() => checkAgent(agent({}), limits)).toThrow("the output of tool book is not a zod 4 schema");
});

test("a tool's return type is the input type of its output schema", () => {
  const input = z.object({ seat: z.string() });
  const output = z.object({ seat: z.string() });
  const fits = tool({ input, output, effect: "none", run: async ({ input: { seat } }) => ({ seat }) });
  expect(fits.output).toBe(output);
  // @ts-expect-error -- it returns a number
  tool({ input, output, effect: "none", run: () => ({ seat: 4 }) });
  expect(tool({ input, effect: "none", run: () => 4 }).output).toBeNull();
});
