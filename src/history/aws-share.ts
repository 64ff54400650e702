/**
 * What a run took of AWS, derived from its log. No request is counted while a run goes on: a counter in each commit would
 * cost more than most of what it counts. Instead a rule says which requests each commit stands for, and a test holds the
 * rule against counted requests (`test/history/aws-share.long.test.ts`: dollars within 10 %, for runs that do not wait).
 *
 * The rule assumes one process that makes all invocations. A process that does not know the run also reads its row and
 * its transcript.
 */
import { encodeJournal } from "../codec/journal.ts";
import type { CommitRecord, Event } from "../core/event.ts";
import { FEW_REQUESTS } from "../ports/stored-sizes.ts";
import { type Steps, atOnce } from "./stepwise.ts";
import { MEMORY_GB, OWN_MS, PRICES, PRICES_OF, WAIT_MS } from "./aws-prices.ts";

/** One line of AWS's bill. */
export interface AwsLine {
  readonly item: string;
  readonly count: number;
  readonly usd: number;
}

export interface AwsShare {
  readonly lines: readonly AwsLine[];
  readonly usd: number;
  /** How the counts came about: no request was counted, the log implies them. */
  readonly basis: "derived from the log";
  readonly region: string;
  /** When the prices were looked up. */
  readonly pricesOf: string;
}

export interface AwsCounts {
  readonly invocations: number;
  readonly transitions: number;
  readonly writes: number;
  readonly writeUnits: number;
  readonly reads: number;
  readonly puts: number;
  readonly gets: number;
  /** Milliseconds that the functions waited for models. */
  readonly modelMs: number;
}

/** Units of the row that creates the run, of its indexes, of its end and of its tombstone, beyond one for each write. */
const UNITS_OF_LIFE = 10;
/** Units beyond the first of a release: its row is above 1 KB until the next commit, or changes an index. */
const UNITS_OF_RELEASE = 2;
/** Bytes of a journal entry besides its part, with keys and numbers. */
const ENTRY_BYTES = 400;
const UNIT_BYTES = 1_024;
/** The share of the bytes of a log that its transcript takes. */
const TRANSCRIPT_SHARE = 0.8;
/** A delivery is a transaction of two items, each charged twice; then its item is deleted. */
const MESSAGE = { writes: 3, units: 5 } as const;
/** A wait ends its execution: the row notes that, and a hand-over moves the run to the next one. */
const WAIT = { writes: 2, units: 4, transitions: 1, reads: 2 } as const;

/** The requests that these commits, all of a run in order, stand for. */
export const awsCounts = (commits: readonly CommitRecord[]): AwsCounts => atOnce(awsCountSteps(commits));

function* awsCountSteps(commits: readonly CommitRecord[]): Steps<AwsCounts> {
  const epochs = new Set<number>();
  let [entries, entryUnits, logBytes, modelMs, messages, waits] = [0, 0, 0, 0, 0, 0];
  let isOver = false;
  for (const [index, commit] of commits.entries()) {
    if (index % COMMITS_PER_STEP === COMMITS_PER_STEP - 1) yield;
    const { epoch, events } = commit;
    epochs.add(epoch);
    logBytes += Buffer.byteLength(JSON.stringify(events));
    messages += events.filter(isAbsorbed).length;
    for (const event of events) if (event.kind === "ModelCallCompleted") modelMs += event.tookMs;
    isOver = (events.at(-1)?.kind ?? (isOver ? "RunEnded" : null)) === "RunEnded";
    // A release. A pause before a model retry is not counted.
    const isFirst = commits[index - 1]?.epoch !== epoch;
    const isLast = commits[index + 1]?.epoch !== epoch;
    if (isLast && events.some(beginsWait)) waits += 1;
    // Each commit that does not release the run puts a journal entry, except the first of an invocation: its part fits
    // into the row.
    if (isFirst || isLast) continue;
    const { byteLength } = encodeJournal([commit], { quality: FEW_REQUESTS.journalQuality });
    entries += 1;
    entryUnits += Math.ceil((byteLength + ENTRY_BYTES) / UNIT_BYTES);
  }
  const invocations = epochs.size;
  // The start, a claim for each invocation, each commit, and the tombstone.
  const writes = 1 + invocations + commits.length + (isOver ? 1 : 0) + waits * WAIT.writes + messages * MESSAGE.writes;
  const extra = UNITS_OF_LIFE + invocations * UNITS_OF_RELEASE;
  return {
    invocations,
    // The end of an execution is a transition more.
    transitions: invocations + waits * WAIT.transitions + (isOver ? 1 : 0),
    writes: writes + entries,
    writeUnits: writes + extra + entryUnits + waits * WAIT.units + messages * (MESSAGE.units - MESSAGE.writes),
    reads: 3 + waits * WAIT.reads,
    // The first snapshot, one for each release, and the sealed segments of the transcript.
    puts: 1 + invocations + Math.floor((logBytes * TRANSCRIPT_SHARE) / FEW_REQUESTS.segmentBytes),
    gets: 1 + waits,
    modelMs,
  };
}

/** Each of them is compressed, which takes more than to read it. */
const COMMITS_PER_STEP = 32;

/** A message from outside that the run took. */
const isAbsorbed = (event: Event): boolean => event.kind === "MessageAbsorbed" && event.stage === "taken";

/** Each of these leaves the run to wait for a human, an event, a time or a child. */
function beginsWait(event: Event): boolean {
  switch (event.kind) {
    case "ApprovalRequested":
    case "WaitBegun":
    case "RunPaused":
    case "ChildStarted":
      return true;
    case "ToolOutcomeUnknown":
      return event.reconcilableFrom !== null;
    case "RecoveryDecided":
      return event.action.kind === "hold" || event.action.kind === "block";
    default:
      return false;
  }
}

/** The lines of AWS's bill for these commits. */
export const awsShareOf = (commits: readonly CommitRecord[]): AwsShare => atOnce(awsShareSteps(commits));

/** The same in steps. */
export function* awsShareSteps(commits: readonly CommitRecord[]): Steps<AwsShare> {
  const counts = yield* awsCountSteps(commits);
  const { invocations, transitions, writes, writeUnits, reads, puts, gets, modelMs } = counts;
  const waitMs = (writes + reads) * WAIT_MS.table + puts * WAIT_MS.put + gets * WAIT_MS.get;
  const gigabyteSeconds = ((modelMs + waitMs + invocations * OWN_MS) / 1_000) * MEMORY_GB;
  const lines = [
    { item: "Step Functions: state transitions", count: transitions, usd: transitions * PRICES.transition },
    { item: "Lambda: invocations", count: invocations, usd: invocations * PRICES.invocation },
    { item: "Lambda: GB-seconds", count: gigabyteSeconds, usd: gigabyteSeconds * PRICES.gigabyteSecond },
    { item: "DynamoDB: write units", count: writeUnits, usd: writeUnits * PRICES.writeUnit },
    { item: "DynamoDB: read units", count: reads, usd: reads * PRICES.readUnit },
    { item: "S3: PUT", count: puts, usd: puts * PRICES.put },
    { item: "S3: GET", count: gets, usd: gets * PRICES.get },
  ];
  const usd = lines.reduce((sum, line) => sum + line.usd, 0);
  const { region, date: pricesOf } = PRICES_OF;
  return { lines, usd, basis: "derived from the log", region, pricesOf };
}
