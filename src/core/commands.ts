/** What a run may still have to do, as the closed list of commands. `outstanding.ts` says which are owed, and when. */

/** What the children of the run need now. */
export type ChildCommand =
  /** Make the children that are dispatched and may not exist yet. */
  | { readonly kind: "makeChildren"; readonly children: readonly string[] }
  /** Judge what children reported, and settle their calls. */
  | { readonly kind: "takeReports"; readonly calls: readonly string[] }
  /** The child missed its deadline: dispatch another one, or fail its call. */
  | { readonly kind: "childTooLate"; readonly child: string }
  /** Take children that are to go on from the processes that hold them. */
  | { readonly kind: "continueChildren"; readonly children: readonly string[] }
  /** Ask children to stop whose answers are not wanted any more. */
  | { readonly kind: "stopChildren"; readonly children: readonly string[] };

/** What the gates of the run need now. */
export type GateCommand =
  /** Apply a human's decision about a gate. */
  | { readonly kind: "decide"; readonly call: string }
  /** The gate expired without a decision: deny it, unless a decision is in the inbox. */
  | { readonly kind: "expireGate"; readonly call: string };

/** What the waits of the run need now. */
export type WaitCommand =
  /** Judge the answers and events that came, and settle the calls that waited for them. */
  | { readonly kind: "takeInputs"; readonly calls: readonly string[] }
  /** The limit of the wait has passed, and nothing came: do what the call declares for that case. */
  | { readonly kind: "endWait"; readonly call: string };

/** What the run needs of its model now. */
export type ModelCommand =
  | { readonly kind: "askModel" }
  /** Look at the model job that is out. */
  | { readonly kind: "pollModel" }
  /** The job is not wanted any more: cancel it at its provider. */
  | { readonly kind: "dropDetachedCall" }
  | { readonly kind: "wait"; readonly until: number };

/** What the engine may have to do next. */
export type Command =
  /** Check that the agent fits the run, and start the run. */
  | { readonly kind: "prepare" }
  /** End as decided; `effectsSettleAt` has passed. */
  | { readonly kind: "end" }
  /** An operator cancelled the run: nothing more starts. */
  | { readonly kind: "cancel" }
  /** An operator asked for a restart: the run fails, and its effects are undone first. */
  | { readonly kind: "startOver" }
  /** The end is decided. Undo the effects first, the newest one first; then the run ends or restarts. */
  | { readonly kind: "compensate" }
  | { readonly kind: "undo"; readonly call: string }
  | { readonly kind: "conclude" }
  | { readonly kind: "pause" }
  | { readonly kind: "resume" }
  /** The run waits for code: check whether that code is deployed now. */
  | { readonly kind: "lookAgain" }
  /** Apply a human's reconciliation. */
  | { readonly kind: "reconcile"; readonly call: string }
  /** The time for a reconciliation is over: do what the tool declares for that case. */
  | { readonly kind: "giveUp"; readonly call: string }
  /** Record the intent of a proposed call, or refuse it. */
  | { readonly kind: "intend"; readonly calls: readonly string[] }
  /** A lost invocation started these calls: decide by the effect table. */
  | { readonly kind: "recover"; readonly calls: readonly string[] }
  /** Ask the external service about the outcomes of these calls. */
  | { readonly kind: "probe"; readonly calls: readonly string[] }
  /** This invocation released these calls: run them. */
  | { readonly kind: "perform"; readonly calls: readonly string[] }
  | ModelCommand
  | GateCommand
  | WaitCommand
  | ChildCommand
  /** Make the closing call of a run that has to stop, and end the run. */
  | { readonly kind: "close" }
  /** Check whether the definition of done holds. */
  | { readonly kind: "judge" }
  /** Summarise the older messages that the model sees. */
  | { readonly kind: "compact" }
  /** Nothing can be done before then. */
  | { readonly kind: "wait"; readonly until: number }
  /** The deadline of the run has passed, or the time that its end may take. */
  | { readonly kind: "expire" }
  /** Nothing can be done until a human answers or resumes the run, or until its deadline. */
  | { readonly kind: "awaitAnswer"; readonly until?: number };
