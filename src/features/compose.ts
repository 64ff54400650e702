/**
 * The composition of the kernel: the only file that names every feature that has rules of its own. Such a
 * feature is here, in its folder (`src/features/NAME`), and in the words that the kernel stores for it (`src/core`).
 */
import { type Kernel, createKernel } from "../core/transition.ts";
import type { FeatureTables } from "../core/features.ts";
import type { Stores, World } from "../ports/world.ts";
import { APPROVAL_EVENTS, gatesOwed, reopenGate, takeDecision } from "./approvals/core.ts";
import { CHILD_EVENTS, absorbReport, childrenOwed, deadlinesOf, lateChildren, tryAgain } from "./children/core.ts";
import { DETACHED_CALL_EVENTS, modelOwed } from "./detached-calls/core.ts";
import { MEMORY_EVENTS } from "./memory/core.ts";
import { REDRIVE_EVENTS } from "./redrive/core.ts";
import { RESULT_SUMMARY_EVENTS } from "./result-summaries/core.ts";
import { beginCompensation, beginRestart, beginUndo, takeCompensate } from "./saga/core.ts";
import { acceptUpgradeIn } from "./upgrades/core.ts";
import { WAIT_EVENTS, takeAnswer, takeSignal, waitsOwed } from "./waits/core.ts";

const TABLES: FeatureTables = {
  events: {
    ...APPROVAL_EVENTS,
    ...CHILD_EVENTS,
    ...DETACHED_CALL_EVENTS,
    ...MEMORY_EVENTS,
    ...REDRIVE_EVENTS,
    ...RESULT_SUMMARY_EVENTS,
    ...WAIT_EVENTS,
  },
  messages: {
    answer: takeAnswer,
    child: absorbReport,
    compensate: takeCompensate,
    decision: takeDecision,
    signal: takeSignal,
    upgrade: acceptUpgradeIn,
  },
  actions: {
    askAgain: reopenGate,
    compensate: beginCompensation,
    restart: beginRestart,
    tryAgain,
    undo: beginUndo,
  },
  owed: {
    gates: gatesOwed,
    waits: waitsOwed,
    children: childrenOwed,
    lateChildren,
    childDeadlines: deadlinesOf,
    model: modelOwed,
  },
};

/** The rules of cairn, with all of its features. */
export const KERNEL: Kernel = createKernel(TABLES);
export const { accepts, fold, foldAll, nextCommands, transition } = KERNEL;

/** The world in which these stores and this chain drive runs by the rules of cairn. */
export const withKernel = <S extends Stores>(stores: S): S & World => ({ ...stores, kernel: KERNEL });
