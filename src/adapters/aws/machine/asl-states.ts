/** The words of the Amazon States Language that the machine uses, and the names of its states. */
import type { ChainState } from "../../../protocol/chain.ts";

export interface Retrier {
  readonly ErrorEquals: readonly string[];
  readonly IntervalSeconds?: number;
  readonly BackoffRate?: number;
  readonly MaxAttempts: number;
  readonly MaxDelaySeconds?: number;
  readonly JitterStrategy?: "FULL";
}

export interface Catcher {
  readonly ErrorEquals: readonly string[];
  readonly ResultPath: string | null;
  readonly Next: StateName;
}

export interface TaskState {
  readonly Type: "Task";
  readonly Resource: string;
  readonly Parameters: CalledFunction & {
    readonly Qualifier?: string;
    readonly "Qualifier.$"?: string;
    readonly Payload: Template;
  };
  readonly TimeoutSeconds?: number;
  readonly TimeoutSecondsPath?: string;
  readonly ResultSelector?: Template;
  readonly ResultPath?: string | null;
  readonly OutputPath?: string;
  readonly Retry: readonly Retrier[];
  readonly Catch: readonly Catcher[];
  readonly Next: StateName;
}

/** One function, or the one whose name the input says. */
export type CalledFunction = { readonly FunctionName: string } | { readonly "FunctionName.$": string };

export type PassState = { readonly Type: "Pass"; readonly Next: StateName } & (
  | { readonly Parameters: Template; readonly OutputPath?: string }
  | { readonly Result: number; readonly ResultPath: string }
);

/** Of a value in the input of a choice. */
export type ChoiceComparison = { readonly Variable: string } & (
  | { readonly StringEquals: string }
  | { readonly NumericGreaterThan: number }
  | { readonly NumericGreaterThanEquals: number }
);

/** A comparison of what is not there would end the execution, and no catcher would see it: each asks for that first. */
export interface Rule {
  readonly And: readonly [{ readonly Variable: string; readonly IsPresent: true }, ChoiceComparison];
  readonly Next: StateName;
}

export interface ChoiceState {
  readonly Type: "Choice";
  readonly Choices: readonly Rule[];
  readonly Default: StateName;
}

export type WaitState = { readonly Type: "Wait"; readonly Next: StateName } & (
  | { readonly Seconds: number }
  | { readonly SecondsPath: string }
);

export type MachineState = TaskState | PassState | ChoiceState | WaitState | { readonly Type: "Succeed" };

/** States to which a beat leads by an error that has an input for them. */
export type Informed = "Wait" | "Park" | "Renew";

/**
 * Besides those of the chain. `Read…` reads the input of a route. `Unanswered`, `Changed` and `Died` count a failed try of a beat,
 * `Again` decides what follows, `Cap` bounds the pause. `Rescued` decides after a rescue, `Hold` waits for an owner's lease.
 * `Shared` is a beat in the function of all agents; only a machine that calls a function of each agent has it.
 */
export type StateName = ChainState | `Read${Informed}` | Failing | "Shared";

export interface MachineDefinition {
  readonly Comment: string;
  readonly QueryLanguage: "JSONPath";
  readonly StartAt: StateName;
  readonly States: { readonly [S in Exclude<StateName, "Shared">]: MachineState } & { readonly Shared?: MachineState };
}

export type Template = { readonly [field: string]: string | boolean | null | Template };

export type Failing =
  | "Unanswered"
  | "Changed"
  | "Died"
  | "Again"
  | "Cap"
  | "Pause"
  | "Backoff"
  | "Rescue"
  | "Rescued"
  | "Hold";
