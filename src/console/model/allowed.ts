/** Which actions the server performs for this caller, and what to do about the others. */
import type { CallerView } from "../../operations/caller-view.ts";
import type { ActionName } from "./actions.ts";

/** What the console offers: the actions of a run, and operations that it offers elsewhere. */
export type Offerable =
  | ActionName
  | ("start" | "decide" | "answer" | "reconcile")
  | ("pauseSchedule" | "resumeSchedule" | "runSchedule")
  | ("health" | "webhooks" | "redeliver");

/** The operation that an action asks for, where its name is another one. */
const OPERATION: { readonly [A in Offerable]?: string } = { message: "send", undo: "cancel" };

/** `server`: it performs the action for no caller. `caller`: this one may not do it. */
export type Offered = "yes" | "server" | "caller";

/** While it is not known who the caller is, every action is offered: the server decides anyway. */
export function offered(name: Offerable, caller: CallerView | null): Offered {
  const operation = OPERATION[name] ?? name;
  if (caller === null || caller.operations.includes(operation)) return "yes";
  return caller.absent.includes(operation) ? "server" : "caller";
}
