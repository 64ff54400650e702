/** A world and an agent that say when they reach a fault point, in the real process. */
import type { Agent, Tool, ToolSource } from "../ports/agent.ts";
import { withCalls } from "./decisions.ts";
import { FAULT_POINTS, type FaultPoint, type OnFaultPoint } from "../ports/fault-point.ts";
import type { Model, DetachedCalls } from "../ports/model.ts";
import type { World } from "../ports/world.ts";
import { COMMIT } from "../protocol/row-commit.ts";
import { CLAIM } from "../protocol/row-claim.ts";

/** A fault point, or a moment before or after a model call. */
export interface Moment extends Pick<FaultPoint, "when" | "at"> {
  readonly name: FaultPoint["name"] | "model";
}

export function worldWithFaultPoints(world: World, onFaultPoint: OnFaultPoint): World {
  const { table, objects } = world;
  return {
    ...world,
    table: withCalls(table, {
      claim: (claim) =>
        around(onFaultPoint, { name: "claim", at: String(claim.entry.epoch) }, () => table.decide(claim, CLAIM)),
      commit: (commit) => {
        const at = String(commit.version + 1);
        return around(onFaultPoint, { name: commit.release ? "release" : "intent", at }, () =>
          table.decide(commit, COMMIT),
        );
      },
    }),
    objects: {
      ...objects,
      put: (key, bytes, durable) => {
        const version = /\/snapshots\/0*(\d+)-/.exec(key)?.[1];
        if (version === undefined) return objects.put(key, bytes, durable);
        return around(onFaultPoint, { name: "put", at: version }, () => objects.put(key, bytes, durable));
      },
    },
  };
}

export const agentWithFaultPoints = (agent: Agent, onFaultPoint: OnFaultPoint): Agent =>
  agentWithTools(agent, (tool, name) => toolWithFaultPoints(tool, name, onFaultPoint));

/** The agent with another tool in place of each of its own, and of each that a server of it lists. */
export function agentWithTools(
  agent: Agent,
  instead: (tool: Tool, name: string, source: ToolSource | null) => Tool,
): Agent {
  const known = new WeakMap<Agent["tools"], Agent["tools"]>();
  const replaced = (tools: Agent["tools"], source: ToolSource | null): Agent["tools"] => {
    // A list that has not changed must stay the same object.
    const made =
      known.get(tools) ??
      Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, instead(tool, name, source)] as const));
    known.set(tools, made);
    return made;
  };
  const sources = agent.sources?.map((source) => ({
    ...source,
    list: async (query: Parameters<typeof source.list>[0]) => replaced(await source.list(query), source),
  }));
  return { ...agent, tools: replaced(agent.tools, null), ...(sources && { sources }) };
}

function toolWithFaultPoints(tool: Tool, at: string, onFaultPoint: OnFaultPoint): Tool {
  const { undo } = tool;
  return {
    ...tool,
    run: (context) => around(onFaultPoint, { name: "effect", at }, async () => tool.run(context)),
    undo: undo && {
      ...undo,
      run: (context) => around(onFaultPoint, { name: "undo", at }, async () => undo.run(context)),
    },
  };
}

export const modelWithFaultPoints = (model: Model, onMoment: (moment: Moment) => Promise<void>): Model => ({
  ...model,
  ask: (request) => around(onMoment, { name: "model", at: "" }, () => model.ask(request)),
  ...(model.detached && { detached: detachedWithFaultPoints(model.detached, onMoment) }),
});

/** The start of a job is a model call, and a look that brings its reply is another moment of the run. */
const detachedWithFaultPoints = (
  detached: DetachedCalls,
  onMoment: (moment: Moment) => Promise<void>,
): DetachedCalls => ({
  ...detached,
  submit: (request, key) => around(onMoment, { name: "model", at: "" }, () => detached.submit(request, key)),
  poll: (request, reference) => around(onMoment, { name: "model", at: "" }, () => detached.poll(request, reference)),
});

async function around<T, Name extends Moment["name"]>(
  onFaultPoint: (point: {
    readonly when: FaultPoint["when"];
    readonly name: Name;
    readonly at: string;
  }) => Promise<void>,
  point: { readonly name: Name; readonly at: string },
  work: () => Promise<T>,
): Promise<T> {
  await onFaultPoint({ when: "before", ...point });
  const done = await work();
  await onFaultPoint({ when: "after", ...point });
  return done;
}

/** `before:claim:3`, `after:effect:bookFlight`; null where the text is no fault point. */
export function parseFaultPoint(text: string): FaultPoint | null {
  const [when, name, at, ...rest] = text.split(":");
  const known = FAULT_POINTS.find((each) => each === name);
  if ((when !== "before" && when !== "after") || known === undefined || !at || rest.length > 0) return null;
  return { when, name: known, at };
}
