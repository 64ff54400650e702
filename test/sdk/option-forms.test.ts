/** Every option of a definition is checked when its file loads, also in JavaScript, where no compiler has seen it. */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import * as cairn from "../../src/index.ts";
import { checkAgent } from "../../src/sdk/check.ts";
import { parseWith } from "../../src/engine/tools/parsed-args.ts";
import { limitsFor } from "../../src/protocol/limits.ts";

const valid = {
  name: "a",
  version: "1",
  model: cairn.scriptedModel({ name: "m", reply: () => ({ text: "done" }) }),
  instructions: "Be brief.",
  task: z.object({}),
  tools: {},
};

const ofTool = { description: "Echoes.", input: z.object({}), effect: "unsafe", run: () => null } as const;

/** What the definition says, with these options in place of right ones. */
function saysOf(define: () => unknown): string {
  try {
    define();
  } catch (error) {
    expect(error).toBeInstanceOf(cairn.AgentInvalid);
    return error instanceof Error ? error.message : "";
  }
  return "nothing";
}

/** Values of all types. Each option refuses those that are none of its own. */
const VALUES: Readonly<Record<string, unknown>> = {
  number: 42,
  text: "",
  flag: true,
  list: [42],
  nothing: null,
  function: () => 42,
};

const AGENT: Readonly<Record<string, readonly string[]>> = {
  ...{ name: [], version: [], upgrade: [], onIdle: [], callerTrace: [], loops: [], dial: [], onExhausted: [] },
  ...{ model: [], instructions: ["text", "function"], task: [], tools: [], done: [] },
  ...{
    result: ["function"],
    output: [],
    chat: ["flag"],
    topology: [],
    models: [],
    checkpoint: ["number"],
  },
  ...{
    budget: [],
    price: [],
    schedule: [],
    retention: [],
    deadline: [],
    saga: [],
    context: [],
  },
  ...{
    memory: [],
    modelOptions: [],
    results: [],
    secrets: [],
    fallbacks: [],
    mcp: [],
    approvals: [],
  },
  ...{ hardIdleMs: ["number", "nothing"], outageMax: ["number"] },
  ...{ activeTools: ["function"], toolChoice: ["function"] },
};

describe.for(Object.entries(AGENT))("the option %s of an agent", ([option, accepted]) => {
  test.for(Object.keys(VALUES).filter((each) => !accepted.includes(each)))("refuses a %s by name", (kind) => {
    const says = saysOf(() => cairn.defineAgent({ ...valid, [option]: VALUES[kind] }));
    expect(says).toMatch(option === "name" ? /an agent's name/ : /\ba\b/);
    expect(says).toMatch(new RegExp(option === "onExhausted" ? "no option" : option));
    expect(says).not.toMatch(/: :|undefined: |\[object/);
  });
});

const TOOL: Readonly<Record<string, readonly string[]>> = {
  ...{ description: ["text"], input: [], output: ["nothing"], run: ["function"], effect: [] },
  ...{ approval: ["function"], timeoutMs: ["number", "nothing"], settleMs: ["number", "nothing"], parallel: ["flag"] },
  ...{
    externalId: ["function", "nothing"],
    key: ["function", "nothing"],
    claims: ["function", "nothing"],
    before: [],
    probe: ["nothing"],
  },
  ...{
    redact: ["function", "nothing"],
    retry: ["nothing"],
    undo: ["nothing"],
    onUnknown: ["nothing", "text"],
    onExists: ["nothing"],
    loops: [],
  },
};

describe.for(Object.entries(TOOL))("the option %s of a tool", ([option, accepted]) => {
  test.for(Object.keys(VALUES).filter((each) => !accepted.includes(each)))("refuses a %s by name", (kind) => {
    const tools = { look: { ...valid, ...cairn.tool(ofTool), [option]: VALUES[kind] } };
    const says = saysOf(() => cairn.defineAgent({ ...valid, tools: tools as never }));
    expect(says).toContain("tool look of agent a");
    if (option !== "run") expect(says).toContain(option === "before" || option === "probe" ? "" : option);
  });
});

test.for<[string, () => unknown, string | RegExp]>([
  [
    "a number as instructions",
    () => cairn.defineAgent({ ...valid, instructions: 42 as never }),
    "agent a has instructions 42: write a text, or a function of the run",
  ],
  [
    "a list as instructions",
    () => cairn.defineAgent({ ...valid, instructions: ["x"] as never }),
    "agent a has instructions (a list): write a text, or a function of the run",
  ],
  [
    "a check that is no list",
    () => cairn.defineAgent({ ...valid, done: cairn.check("x", () => true) as never }),
    'agent a has done (an object): write a list of checks, each with a name of its own: done: [check("NAME", ({ calls }) => ...)]',
  ],
  [
    "approval: true",
    () => cairn.defineAgent({ ...valid, tools: { pay: cairn.tool({ ...ofTool, approval: true as never }) } }),
    'tool pay of agent a has approval true: write "never" or "always" or a function that returns why a human is asked, or false',
  ],
  [
    "a check without a function",
    () => cairn.check("x", undefined as never),
    'check "x" has no function: write check("NAME", ({ calls }) => ...)',
  ],
  [
    "an agent without options",
    () => cairn.defineAgent(undefined as never),
    "an agent has undefined in place of its options: write { ... }",
  ],
  ["a tool without options", () => cairn.tool(42 as never), "a tool has 42 in place of its options: write { ... }"],
  [
    "a list of tools",
    () => cairn.defineAgent({ ...valid, tools: [cairn.tool(ofTool)] as never }),
    /^agent a has tools \(a list\): write an object of tools by their names/,
  ],
  [
    "a budget that is a number",
    () => cairn.defineAgent({ ...valid, budget: 5 as never }),
    "agent a has budget 5: write an object such as { usd: 1, beats: 40 }",
  ],
  [
    "an unknown field of the budget",
    () => cairn.defineAgent({ ...valid, budget: { euro: 1 } as never }),
    /^the budget of agent a: there is no "euro": take it out, or write one of beats, /,
  ],
  [
    "an unknown field of chat",
    () => cairn.defineAgent({ ...valid, chat: { idel: "2h" } as never }),
    'agent a has chat (an object): write true or false or { idle: "2h" }',
  ],
  [
    "an async result",
    () => cairn.defineAgent({ ...valid, result: (async () => 1) as never }),
    /^agent a has result \(a function\): write a function that is not async/,
  ],
  [
    "a model that is missing",
    () => cairn.defineAgent({ ...valid, model: undefined } as never),
    /^agent a has no model: write /,
  ],
  [
    "instructions that are missing",
    () => cairn.defineAgent({ ...valid, instructions: undefined } as never),
    /^agent a has no instructions: write a text/,
  ],
  [
    "tools in a map",
    () => cairn.defineAgent({ ...valid, tools: new Map() } as never),
    /^agent a has tools \(an object of Map\): write an object/,
  ],
  [
    "tools that come later",
    () => cairn.defineAgent({ ...valid, tools: Promise.resolve({}) } as never),
    /^agent a has tools \(an object of Promise\): write an object/,
  ],
  ...[
    z.object({ to: z.lazy(() => z.string().refine(async () => true)) }),
    z.object({ to: z.promise(z.string()) }),
    z.object({ to: z.string().check(async () => {}) }),
  ].map((task): [string, () => unknown, RegExp] => [
    `an async part of ${task.shape.to.type}`,
    () => cairn.defineAgent({ ...valid, task } as never),
    /^agent a has task .*without an async refine/,
  ]),
  [
    "an async refine of an input",
    () =>
      cairn.defineAgent({
        ...valid,
        tools: { pay: cairn.tool({ ...ofTool, input: z.object({ to: z.string().refine(async () => true) }) }) },
      }),
    /^tool pay of agent a has input \(an object of ZodObject\): write a zod schema without an async refine or transform/,
  ],
  [
    "an async transform of a task",
    () => cairn.defineAgent({ ...valid, task: z.object({}).transform(async (all) => all) }),
    /^agent a has task .*without an async refine/,
  ],
  ["beats that are a text", () => cairn.react({ maxBeats: "40" as never }), 'react has maxBeats "40": write a number'],
  [
    "an unknown option of react",
    () => cairn.react({ maxBeats: 4, beats: 4 } as never),
    'react has no option "beats": did you mean maxBeats?',
  ],
  ["a pipeline without stages", () => cairn.pipeline({} as never), "pipeline has no stages: write a list of stages"],
  [
    "a stage without instructions",
    () => cairn.pipeline({ stages: [{ name: "one" } as never] }),
    'stage "one" of a pipeline has no instructions: write a text',
  ],
  [
    "a gate that is a text",
    () => cairn.pipeline({ stages: [{ name: "one", instructions: "", gate: "good" as never }] }),
    /^stage "one" of a pipeline has gate "good": write a function or judge/,
  ],
  [
    "a debate without a judge",
    () => cairn.debate({ drafter: { instructions: "" }, critic: { instructions: "" } } as never),
    "debate has no judge: write an object { ... }",
  ],
  [
    "a critic that is a text",
    () => cairn.debate({ drafter: { instructions: "" }, critic: "x", judge: { instructions: "" } } as never),
    'debate has critic "x": write an object { ... }',
  ],
  [
    "a planner that may do what there is not",
    () => cairn.planExecute({ planner: { instructions: "", tool: [] } as never }),
    /^the planner of planExecute has no option "tool"/,
  ],
  [
    "workers that are no list",
    () => cairn.orchestrator({ workers: "a", boss: {}, merger: {} } as never),
    'orchestrator has workers "a": write a list of names',
  ],
  [
    "levels that are a text",
    () => cairn.hierarchical({ workers: [], boss: {}, merger: {}, levels: "3" } as never),
    'hierarchical has levels "3": write a number',
  ],
  [
    "a child tool without an agent",
    () => cairn.childTool({ input: z.object({}), budget: { beats: 1 } } as never),
    "a child tool has no agent: write a text",
  ],
  [
    "an answer that is a text",
    () => cairn.askHuman({ answer: "yes" as never }),
    /^askHuman has answer "yes": write a zod schema/,
  ],
  [
    "an unknown option of a wait",
    () => cairn.waitFor({ event: "x", timeout: "2h" } as never),
    /^waitFor has no option "timeout"/,
  ],
  [
    "a scripted model without a reply",
    () => cairn.scriptedModel({ name: "x" } as never),
    "scriptedModel has no reply: write a function",
  ],
  [
    "a version that is a number",
    () => cairn.defineAgent({ ...valid, version: 2 as never }),
    "agent a has version 2: write a text",
  ],
  [
    "a model of a role that is a number",
    () => cairn.defineAgent({ ...valid, models: { judge: 3 as never } }),
    /^agent a has models\.judge 3: write a model: a text such as/,
  ],
  [
    "a model of a role that is nothing",
    () => cairn.defineAgent({ ...valid, models: { judge: null as never } }),
    /^agent a has models\.judge null: write a model/,
  ],
  [
    "a model without a name",
    () => cairn.defineAgent({ ...valid, model: {} as never }),
    /^agent a has model \(an object\): write a model/,
  ],
  [
    "a run that is a number",
    () => cairn.defineAgent({ ...valid, tools: { pay: cairn.tool({ ...ofTool, run: 3 as never }) } }),
    "tool pay of agent a has run 3: write a function",
  ],
  [
    "a rule of repetition that is a number",
    () =>
      cairn.defineAgent({
        ...valid,
        tools: { pay: cairn.tool({ ...ofTool, effect: "none", retry: { attempts: 2, when: 3 as never } }) },
      }),
    /^tool pay of agent a: retry\.when is 3: write a function/,
  ],
  [
    "an unknown rule of repetition",
    () =>
      cairn.defineAgent({
        ...valid,
        tools: { pay: cairn.tool({ ...ofTool, effect: "none", retry: { attempts: 2, backoff: 5 } as never }) },
      }),
    'tool pay of agent a: retry has no "backoff": write attempts, when or backoffMs',
  ],
  [
    "a choice of a tool without a type",
    () => cairn.defineAgent({ ...valid, toolChoice: { tool: "x" } as never }),
    /^agent a has toolChoice \(an object\): write "auto" or "none" or "required" or \{ type: "tool"/,
  ],
  [
    "a choice of a tool that it lacks",
    () => cairn.defineAgent({ ...valid, toolChoice: { type: "tool", toolName: "pay" } }),
    'agent a has toolChoice "pay", which is no tool of it: write a tool',
  ],
  [
    "an active tool that it lacks",
    () => cairn.defineAgent({ ...valid, tools: { pay: cairn.tool(ofTool) }, activeTools: ["pya"] }),
    'agent a has activeTools "pya", which is no tool of it: write pay',
  ],
  ["chaos without an input", () => cairn.defineChaos({} as never), "defineChaos has no input: write a function"],
])("refuses %s with what was given and what is expected", ([, define, says]) => {
  if (typeof says === "string") expect(saysOf(define)).toBe(says);
  else expect(saysOf(define)).toMatch(says);
});

test("accepts what no option refuses", () => {
  const agent = cairn.defineAgent({
    ...valid,
    tools: {
      pay: cairn.tool({ ...ofTool, approval: async () => "large", redact: (value) => value, undo: null, retry: null }),
    },
    done: [cairn.check("any", async () => true)],
    chat: false,
  });
  expect(() => checkAgent(agent, limitsFor(60_000))).not.toThrow();
});

test("says of a refine that returns a promise what it is, where no function shows it before", () => {
  const hidden = z.object({ to: z.string().refine(() => Promise.resolve(true)) });
  const why = "its schema has a refine or transform that returns a promise, and values are parsed at once";
  expect(parseWith({ input: hidden }, { to: "x" })).toMatchObject({ ok: false, why: expect.stringContaining(why) });
  const whole = z.object({}).superRefine(() => Promise.resolve());
  expect(parseWith({ input: whole }, {})).toMatchObject({ ok: false, why: expect.stringContaining(why) });
});

describe("an item of a list", () => {
  test("is named by its place", () => {
    expect(saysOf(() => cairn.defineAgent({ ...valid, secrets: ["A", 42] } as never))).toBe(
      'agent a has secrets[1] 42: write a list of names: secrets: ["AIRLINE_TOKEN"]',
    );
  });

  test("is refused if it is a second check of the same name", () => {
    const done = ["sent", "read", "sent"].map((name) => cairn.check(name, () => true));
    expect(saysOf(() => cairn.defineAgent({ ...valid, done }))).toMatch(
      /^agent a has done\[2\] \(an object\): write a list of checks, each with a name of its own: /,
    );
  });

  test("is refused if it names a tool for summaries that the agent does not have", () => {
    const tools = { echo: cairn.tool(ofTool) };
    const define = (summary: readonly string[]) => () => cairn.defineAgent({ ...valid, tools, results: { summary } });
    expect(saysOf(define(["echo", "ecko"]))).toBe(
      'the results of agent a have summary of "ecko", which is none of its tools: write one of echo',
    );
    expect(saysOf(define(["echo"]))).toBe("nothing");
  });
});
