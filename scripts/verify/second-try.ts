/**
 * Plays test files once more whose failures all came late: alone, in a fresh process, after everything else. Such a file
 * is unstable if it passes then, and refuses if it does not. The decision is in docs/adr/0115-second-try.md.
 */
import type { Failure } from "./failures.ts";
import type { LateFile, Score, Step } from "./play.ts";

/** More unstable files than this refuse: then the machine or the change is at fault, and not luck. */
export const UNSTABLE_MAX = 3;

export interface SecondTries {
  readonly scores: readonly Score[];
  /** `FILE: TEST: what it said at the first try`, for each file that passed at the second one. */
  readonly unstable: readonly string[];
}

/**
 * Plays late files once more, or refuses them if there are too many: to play all files of a broken machine again would
 * take as long as the first time.
 */
export async function settleLate(
  late: readonly LateFile[],
  play: (step: Step) => Promise<Score>,
): Promise<SecondTries> {
  if (late.length <= UNSTABLE_MAX) return playAgain(late, play);
  const refusals = [
    `${late.length} files failed by events that came late, and more than ${UNSTABLE_MAX} refuse:`,
    ...late.map(({ file, failures }) => `  ${describeFirst(file, failures)}`),
  ];
  return { scores: [{ passed: 0, failed: late.length, refusals, late: [], notes: [] }], unstable: [] };
}

export async function playAgain(late: readonly LateFile[], play: (step: Step) => Promise<Score>): Promise<SecondTries> {
  const scores: Score[] = [];
  const unstable: string[] = [];
  for (const { config, env, file, failures } of late) {
    const words = [file, "--maxWorkers=1"];
    const score = await play({ name: `again, alone: ${file}`, work: { kind: "tests", config, words }, env });
    scores.push(settled(score));
    if (score.failed === 0 && score.late.length === 0) unstable.push(describeFirst(file, failures));
  }
  return { scores, unstable };
}

const describeFirst = (file: string, [first]: readonly Failure[]): string =>
  `${file}: ${first?.test ?? ""}: ${first?.said ?? ""}`;

/** There is no third try: what comes late again is a failure. */
function settled(score: Score): Score {
  const refusals = score.late.flatMap(({ file, failures }) =>
    failures.map(({ test, said }) => `${file}: ${test}: late twice: ${said}`),
  );
  return { ...score, failed: score.failed + refusals.length, refusals: [...score.refusals, ...refusals], late: [] };
}
