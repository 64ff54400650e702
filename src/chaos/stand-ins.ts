/**
 * What stands in for the services of an agent and its child agents in a trial. A tool that acts outside runs its own code
 * only if the agent's file says that a service of the trial stands in, or if the user typed its name. Every other one is
 * replaced by a fake, wherever its process got it from. So a tool that nobody thought of acts on nothing.
 */
import { canonical } from "../codec/canonical.ts";
import { asJson } from "../codec/value.ts";
import { EFFECTS } from "../core/calls/effects.ts";
import type { Json } from "../core/json.ts";
import type { Agent, Tool, ToolSource } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import type { Chaos, OutsideEffect, StandIn } from "../sdk/chaos.ts";
import { effectsSeen } from "../sdk/chaos-file.ts";
import { sampleFor } from "../sdk/sample.ts";
import {
  type ActingFamily,
  type ActingTool,
  acts,
  actingTools,
  givenFor,
  meaningless,
  notGiven,
} from "../testing/acting-tools.ts";
import { agentWithTools } from "../testing/fault-points.ts";
import { Fakes } from "./fakes.ts";

/** How the tools of a family act in a trial, by their names. */
export interface Casting {
  /** Their own code runs, and a service of the trial stands in. */
  readonly services: readonly string[];
  /** Fakes replace them. */
  readonly faked: readonly string[];
  /** They act for real. */
  readonly real: readonly string[];
}

/** The tools for which the agent's file declares nothing: they are faked, or act for real once their names are typed. */
export const undeclared = (family: ActingFamily, chaos: Chaos | null): readonly ActingTool[] =>
  notGiven(family, Object.keys(chaos?.standIns ?? {}));

/** Throws `AgentInvalid` if the declarations of the file are wrong. */
export function castingFor(
  family: ActingFamily,
  { chaos, real }: { readonly chaos: Chaos | null; readonly real: readonly string[] },
): Casting {
  const standIns = chaos?.standIns ?? {};
  const [unknown] = meaningless(family, Object.keys(standIns));
  if (unknown !== undefined) {
    throw new AgentInvalid(`standIns of chaos names ${unknown}: agent ${family.root.name} has no such tool`);
  }
  const services = Object.keys(standIns).filter((name) => standIns[name] === "service");
  const [uncounted] = services;
  if (uncounted !== undefined && chaos?.effects == null) {
    throw new AgentInvalid(
      `standIns of chaos says that a service stands in for ${uncounted}: write effects as well, which returns its effects`,
    );
  }
  const open = undeclared(family, chaos).map(({ name }) => name);
  const faked = [...Object.keys(standIns).filter((name) => !services.includes(name)), ...open];
  return { services, faked: faked.filter((name) => !real.includes(name)), real };
}

/** The tools of the family that are to be faked, and for which no result could be made up. */
export function withoutResult(
  agents: readonly Agent[],
  casting: Casting,
  standIns: Chaos["standIns"],
): readonly string[] {
  const [root] = agents;
  if (root === undefined) return [];
  const family = { root, others: agents };
  return actingTools(family).flatMap(({ name, server }) => {
    if (server !== null || !casting.faked.includes(name) || Object.hasOwn(standIns, name)) return [];
    const [tool = "", owner = root.name] = name.split(".").toReversed();
    const output = agents.find((agent) => agent.name === owner)?.tools[tool]?.output ?? null;
    return sampleFor(output) === undefined ? [name] : [];
  });
}

/** Who knows the effects of a trial: services that stand in, fakes, or nothing but the trace of calls. */
export type EffectSource = "other side" | "fakes" | "calls";

export interface Counting {
  readonly by: EffectSource;
  /** The effects in the directory of a pass. Not for `calls`. */
  readonly effects: (dir: string) => Promise<readonly OutsideEffect[]>;
}

export function countingFor(chaos: Chaos | null, { services, faked, real }: Casting): Counting {
  const asksServices = chaos?.effects != null && services.length + real.length > 0;
  const by = asksServices ? "other side" : real.length > 0 || faked.length === 0 ? "calls" : "fakes";
  return {
    by,
    effects: async (dir) => [
      ...(asksServices ? await effectsSeen(chaos, dir) : []),
      ...(faked.length > 0 ? new Fakes(dir).effects() : []),
    ],
  };
}

/** What the processes of a trial need to know, beside the agent's file. */
export interface TrialStandIns {
  /** The agent whose tools have no prefix. */
  readonly root: string;
  readonly standIns: Chaos["standIns"];
  /** The tools that act for real. */
  readonly real: readonly string[];
  readonly fakes: Fakes;
  /** The task that the process works on; null if it belongs to a child run. */
  readonly taskInHand: () => number | null;
}

/** The agent of a process, none of whose tools acts outside without being asked. */
export function agentStandingIn(agent: Agent, trial: TrialStandIns): Agent {
  const real = Object.fromEntries(trial.real.map((name) => [name, true]));
  return agentWithTools(agent, (tool, name, source: ToolSource | null) => {
    if (!acts(tool)) return tool;
    const place = { root: trial.root, agent: agent.name, tool: name, source };
    const standIn = givenFor(trial.standIns, place);
    if (standIn === "service" || (standIn === undefined && givenFor(real, place))) return tool;
    return faked(tool, { ...trial, name, standIn });
  });
}

/** The tool, none of whose functions reaches anything but the fake. So it has no before-image. */
function faked(
  { before: _, undo, ...tool }: Tool,
  {
    fakes,
    taskInHand,
    name,
    standIn,
  }: Pick<TrialStandIns, "fakes" | "taskInHand"> & {
    readonly name: string;
    readonly standIn: Exclude<StandIn, "service"> | undefined;
  },
): Tool {
  const result = async (input: unknown): Promise<Json> => {
    const given: unknown = standIn === undefined ? sampleFor(tool.output) : await standIn(input as never);
    if (given === undefined) throw new Error(`nothing says what the fake of ${name} returns`);
    const json = asJson(given);
    if (json.ok) return json.json;
    throw new Error(`the stand-in of ${name} returned no JSON: ${json.why}`);
  };
  const find = (key: string) => fakes.find({ tool: name, key });
  return {
    ...tool,
    run: ({ input, key }) => {
      const args = asJson(input);
      const words = args.ok ? canonical(args.json) : String(input);
      const task = taskInHand();
      return fakes.act({
        tool: name,
        key,
        subject: task === null ? words : `task ${task}: ${words}`,
        isDeduplicated: EFFECTS[tool.effect].isDeduplicated,
        result: () => result(input),
      });
    },
    probe:
      tool.probe &&
      (({ key }) => {
        const known = find(key);
        return known === null ? { kind: "absent" } : { kind: "happened", result: known.result };
      }),
    undo: undo && {
      ...undo,
      run: ({ of: { key } }) => {
        fakes.undo({ tool: name, key });
        return null;
      },
      ...(undo.probe && {
        probe: ({ of: { key } }) =>
          find(key)?.undone === true ? { kind: "happened", result: null } : { kind: "absent" },
      }),
    },
  };
}
