/**
 * For each schedule of `docs/schedules.md`: how to see in a history that its dangerous situation really arose. Without
 * such a witness nobody knows whether a simulation that finds nothing has looked. A schedule that no history can reach
 * is named with the test that shows it.
 */
import type { Witnesses } from "./observed-history.ts";
import { witnessesClaims } from "./witnesses-claims.ts";
import { witnessesEffects } from "./witnesses-effects.ts";
import { witnessesWrites } from "./witnesses-writes.ts";

export const WITNESSES: Witnesses = { ...witnessesClaims, ...witnessesEffects, ...witnessesWrites };

/** Not reached by any history, and the test that shows it instead. */
export const SHOWN_ELSEWHERE: Readonly<Record<number, string>> = {
  // A key that is used again after its run has expired: a day later.
  19: "test/schedules/claims.test.ts",
  // Nothing restarts a run from scratch yet.
  21: "test/schedules/claims.test.ts",
  // All processes of a history run the same code.
  31: "test/schedules/sweeper.test.ts",
  32: "test/schedules/claims.test.ts",
  // A zombie between two writes of a rescue that ends its run.
  36: "test/schedules/sweeper.test.ts",
  // A history has one run, whose end nobody waits for.
  41: "test/schedules/children.test.ts",
  44: "test/schedules/children.test.ts",
  // A person between a look and a delivery while a gate expires.
  49: "test/schedules/messages.test.ts",
  // Nobody purges a run before its history is over.
  51: "test/schedules/children.test.ts",
  // Every version of a history has the same tools, and comes in time.
  52: "test/schedules/upgrades.test.ts",
  55: "test/schedules/upgrades.test.ts",
  56: "test/schedules/upgrades.test.ts",
  57: "test/schedules/upgrades.test.ts",
  58: "test/schedules/upgrades.test.ts",
  // People answer every question of a history; and what its order shows, a checker would have to know from the script.
  59: "test/schedules/policies.test.ts",
  60: "test/schedules/policies.test.ts",
  61: "test/schedules/policies.test.ts",
  // No run of a history asks for more budget, or has its time at work limited.
  62: "test/schedules/budgets.test.ts",
  63: "test/schedules/budgets.test.ts",
  64: "test/schedules/budgets.test.ts",
  // Its checker says so; a wish and its request are two steps of one person.
  75: "test/schedules/sagas.test.ts",
  // No model of a history goes in circles, and debits do not say which of its replies were lost.
  65: "test/schedules/recovery.test.ts",
  66: "test/schedules/recovery.test.ts",
  67: "test/schedules/recovery.test.ts",
  73: "test/schedules/recovery.test.ts",
  // No tool of a history fails on the way.
  74: "test/schedules/policies.test.ts",
  // A history is over before a day has passed; that every end keeps its key first, a checker says of all of them.
  81: "test/schedules/keys.test.ts",
  82: "test/schedules/keys.test.ts",
  83: "test/schedules/keys.test.ts",
  // A process that dies between an early question and its debit; debits do not say which replies were lost.
  85: "test/schedules/providers.test.ts",
  86: "test/schedules/providers.test.ts",
  // One operator redrives a run of a history, and no archive or time to live runs out there.
  87: "test/schedules/redrive.test.ts",
  88: "test/schedules/redrive.test.ts",
  89: "test/schedules/redrive.test.ts",
  90: "test/schedules/redrive.test.ts",
  // Commits do not say which calls run beside them.
  77: "test/schedules/batches.test.ts",
  // Debits do not say which replies were lost, nor how many a model gave.
  71: "test/schedules/dial.test.ts",
  // One answer that is lost among many, or a deployment; the checkers of accounts and deaths see what would follow.
  91: "test/schedules/outages.test.ts",
  // No agent of a history sets a deadline.
  134: "test/schedules/deadlines.test.ts",
  135: "test/schedules/deadlines.test.ts",
  92: "test/schedules/outages.test.ts",
  93: "test/schedules/outages.test.ts",
  94: "test/schedules/outages.test.ts",
  95: "test/schedules/outages.test.ts",
  96: "test/schedules/outages.test.ts",
  97: "test/schedules/outages.test.ts",
  98: "test/schedules/outages.test.ts",
  99: "test/schedules/outages.test.ts",
  100: "test/schedules/outages.test.ts",
  // A history has one run, so no run keeps the sweeper from another.
  79: "test/schedules/sweeper.test.ts",
  // No invocation of a history gives its run back while a call of it has no recorded end.
  80: "test/schedules/quiet.test.ts",
  // The definition of Step Functions: a history has the chain of the other worlds.
  101: "test/schedules/machine.test.ts",
  // No machine of a history begins again, and none ends a run that another one starts again; what is too early, a checker sees.
  104: "test/schedules/clocks.test.ts",
  105: "test/schedules/clocks.test.ts",
  106: "test/schedules/clocks.test.ts",
  107: "test/schedules/clocks.test.ts",
  108: "test/schedules/messages.test.ts",
  // No history puts a backup of its store back.
  109: "test/schedules/restored.test.ts",
  // The table of a history decides in one step: only DynamoDB lies between a read and its write.
  110: "test/schedules/rows.test.ts",
  111: "test/schedules/rows.test.ts",
  112: "test/schedules/rows.test.ts",
  // A history has one run; families have a simulation of their own (`families.ts`).
  113: "test/schedules/child-runs.test.ts",
  114: "test/schedules/child-runs.test.ts",
  115: "test/schedules/child-runs.test.ts",
  116: "test/schedules/child-runs.test.ts",
  117: "test/schedules/child-runs.test.ts",
  118: "test/schedules/child-runs.test.ts",
  119: "test/schedules/child-runs.test.ts",
  120: "test/schedules/child-runs.test.ts",
  121: "test/schedules/child-runs.test.ts",
  122: "test/schedules/child-runs.test.ts",
  123: "test/schedules/child-ends.test.ts",
  124: "test/schedules/child-ends.test.ts",
  125: "test/schedules/child-ends.test.ts",
  126: "test/schedules/child-ends.test.ts",
  127: "test/schedules/child-ends.test.ts",
  128: "test/schedules/child-ends.test.ts",
  129: "test/schedules/child-ends.test.ts",
  130: "test/schedules/child-ends.test.ts",
  131: "test/schedules/child-ends.test.ts",
  132: "test/schedules/child-ends.test.ts",
  133: "test/schedules/child-levels.test.ts",
  136: "test/schedules/outages.test.ts",
  // Each process of a history keeps its states, but no history says which state a beat began with.
  137: "test/schedules/warm-processes.test.ts",
  138: "test/schedules/warm-processes.test.ts",
  // The stores of a history lose nothing.
  139: "test/schedules/power.test.ts",
  140: "test/schedules/power.test.ts",
  141: "test/schedules/shared-processes.test.ts",
  142: "test/schedules/shared-processes.test.ts",
  // All processes of a history run the same code, and a history is shorter than the hour after which all are judged.
  143: "test/schedules/due.test.ts",
  // The row of the world in memory has its time by itself; on DynamoDB each write says it.
  144: "test/schedules/due.test.ts",
  145: "test/schedules/due.test.ts",
  // The services of a history know keys, so its probes need no before-image; those of the crash enumeration do.
  146: "test/schedules/before-images.test.ts",
  147: "test/schedules/before-images.test.ts",
  // No tool of a history is idempotent by nature.
  148: "test/schedules/before-images.test.ts",
  // No model of a history has a rate limit.
  149: "test/schedules/model-rates.test.ts",
  // A history sends each beat anew.
  150: "test/schedules/sweep-page.test.ts",
  151: "test/schedules/entries.test.ts",
  152: "test/schedules/entries.test.ts",
  153: "test/schedules/entries.test.ts",
  154: "test/schedules/entries.test.ts",
  155: "test/schedules/runs-go-on.test.ts",
  156: "test/schedules/runs-go-on.test.ts",
  // No agent of a history waits for an answer or an event.
  157: "test/schedules/waits.test.ts",
  158: "test/schedules/waits.test.ts",
  159: "test/schedules/waits.test.ts",
  160: "test/schedules/waits.test.ts",
  161: "test/schedules/waits.test.ts",
  162: "test/schedules/waits.test.ts",
  163: "test/schedules/waits.test.ts",
  // No history has a table of DynamoDB.
  164: "test/schedules/shards.test.ts",
  // No run of a history is left without a claim for hours.
  165: "test/schedules/claim-evidence.test.ts",
  166: "test/schedules/claim-evidence.test.ts",
  // No message of a history and no tool brings a file.
  167: "test/schedules/files.test.ts",
  168: "test/schedules/files.test.ts",
  169: "test/schedules/files.test.ts",
  // As 137; and the store of a history has each row with its journal.
  170: "test/schedules/journals-of-beats.test.ts",
  171: "test/schedules/journals-of-beats.test.ts",
  // A sender of a history that dies in between, among many; which execution a late beat is of; and its timers.
  172: "test/schedules/parked-runs.test.ts",
  175: "test/schedules/parked-runs.test.ts",
  177: "test/schedules/parked-runs.test.ts",
  178: "test/schedules/parked-runs.test.ts",
  // All processes of a history run the same code.
  179: "test/schedules/parked-runs.test.ts",
  // No operator of a history forks its run.
  180: "test/schedules/forks.test.ts",
  181: "test/schedules/forks.test.ts",
  // No reader follows the run of a history, and its model gives whole replies.
  182: "test/schedules/streams.test.ts",
  183: "test/schedules/streams.test.ts",
  184: "test/schedules/streams.test.ts",
  185: "test/schedules/streams.test.ts",
  // No agent of a history holds a conversation.
  186: "test/schedules/chats.test.ts",
  187: "test/schedules/chats.test.ts",
  // No tenant of a history has limits.
  188: "test/schedules/spend-counters.test.ts",
  189: "test/schedules/spend-counters.test.ts",
  // No world of a history has webhooks.
  190: "test/schedules/webhooks.test.ts",
  191: "test/schedules/webhooks.test.ts",
  // No world of a history has a spend cap.
  192: "test/schedules/spend-cap.test.ts",
  193: "test/schedules/spend-cap.test.ts",
  // No model of a history is asynchronous.
  194: "test/schedules/detached-calls.test.ts",
  195: "test/schedules/detached-calls.test.ts",
  196: "test/schedules/detached-calls.test.ts",
  197: "test/schedules/detached-calls.test.ts",
  198: "test/schedules/detached-calls.test.ts",
  199: "test/schedules/detached-calls.test.ts",
  // No agent of a history has a memory.
  200: "test/schedules/memory.test.ts",
  201: "test/schedules/memory.test.ts",
  202: "test/schedules/memory.test.ts",
  // No result of a history is too long to show.
  203: "test/schedules/result-summaries.test.ts",
};
