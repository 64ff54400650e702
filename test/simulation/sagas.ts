/**
 * Sagas of a history: in one of four its tools can undo what they did, its agent may let it begin again, and people want
 * it undone. What its checker asks is in `checkers-sagas.ts`.
 */
import type { z } from "zod";
import type { Agent, CallContext, Tool, Undo } from "../../src/ports/agent.ts";
import { check } from "../../src/sdk/define.ts";
import { requestCompensation } from "../../src/operations/compensate.ts";
import { retryUntilAcknowledged } from "./operator-attempts.ts";
import type { SagaPlan } from "./saga-plan.ts";
import type { Process, Services } from "./services.ts";
import type { Sim } from "./sim.ts";

/** What the agent of such a history says of its saga. */
export function sagaOfAgent({ onFailure, restarts, leaving }: SagaPlan): Agent["saga"] {
  return { onFailure, onOutage: "leave", restarts, leaving };
}

export const lateEnough = ({ doneFrom }: SagaPlan) => check("late enough", ({ spent }) => spent.beats >= doneFrom);

type Input = { readonly step: number; readonly index: number; readonly stamp: number };
type Rules = Pick<Tool<z.ZodType<Input>>, "undo" | "onUnknown" | "key">;

/** What a tool of such a history says besides. */
export function undoRules(of: {
  readonly plan: SagaPlan;
  readonly name: string;
  readonly services: Services;
  readonly here: Process;
}): Partial<Rules> {
  const { plan, name, services, here } = of;
  const effect = plan.undoes[name];
  if (effect === undefined) return {};
  const undo: Undo<Input> = {
    effect,
    run: async ({ input: { stamp: body }, key, epoch, signal, of: { key: undoes } }) => {
      await services.act({ tool: effect, key, epoch, signal, undoes, body }, here);
      return "undone";
    },
    ...(effect === "probed" ? { probe: ({ key, input }) => services.probe({ key, body: input.stamp }, here, 0) } : {}),
  };
  const isKeyed = name === "keyed";
  return {
    undo,
    ...(isKeyed ? {} : { onUnknown: plan.onUnknown }),
    ...(isKeyed && plan.ownKeys
      ? { key: ({ step, index }: Input, { restart }: CallContext) => `deed-${step}.${index}-of-${restart}` }
      : {}),
  };
}

/** Somebody wants what the run did undone: before it is cancelled, or so that it begins again. */
export async function requestUndo(sim: Sim, of: { readonly run: string; readonly next: "cancel" | "restart" }) {
  const outcome = await retryUntilAcknowledged<string>(sim, {
    act: (world) => requestCompensation(world, { ...of, by: "operator" }),
    mayGiveUp: () => true,
  });
  return outcome;
}
