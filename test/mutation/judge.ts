/**
 * A process that plays suites over one copy of the sources, one after another, for `createJudge`. It keeps one
 * vitest, since to start that and to transform the sources anew takes longer than most suites.
 *
 * Its working directory is the copy. It takes messages `Played` and answers each with a `Verdict`. It ends with its
 * parent.
 */
import { join } from "node:path";
import { type TestModule, createVitest } from "vitest/node";
import { type ReportedError, kindOfFailure } from "../../scripts/verify/failures.ts";
import { PATIENCE_MS, type Played, type Verdict } from "./judges.ts";

/** The language refuses a text that is not a program. That says nothing about the suite. */
const REFUSAL = /\b(ReferenceError|SyntaxError|Transform failed)\b.*/;

const vitest = await createVitest({
  watch: false,
  bail: 1,
  reporters: [{}],
  testTimeout: 2 * PATIENCE_MS,
});
for (const { config } of vitest.projects) {
  // Projects do not inherit these two from the options above.
  config.expect.poll = { timeout: PATIENCE_MS };
  config.hookTimeout = 2 * PATIENCE_MS;
}
/** The files of the mutant before. They have their sound text again. */
let restored: readonly string[] = [];

async function judge({ file, title, changed }: Played): Promise<Verdict> {
  for (const path of [...restored, ...changed]) vitest.invalidateFile(join(process.cwd(), path));
  restored = changed;
  if (title === "") vitest.resetGlobalTestNamePattern();
  else vitest.setGlobalTestNamePattern(title);
  const asked = join(process.cwd(), file);
  const specifications = (await vitest.globTestSpecifications([file])).filter(({ moduleId }) => moduleId === asked);
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
  // Modules of earlier suites are listed too.
  const played = testModules.find(({ moduleId }) => moduleId === asked);
  if (played === undefined) return { kind: "broken", reason: `there is no suite ${file}`, isLate: false };
  return verdictOn(played, unhandledErrors);
}

function verdictOn(module: TestModule, unhandled: readonly unknown[]): Verdict {
  const tests = [...module.children.allTests()];
  const atLoad = [module, ...module.children.allSuites()].flatMap((each) => each.errors());
  const inTests = tests.flatMap((each) => each.result().errors ?? []);
  // Errors of workers have no prototype, so they cannot be made strings.
  const errors: readonly ReportedError[] = [...atLoad, ...inTests, ...(unhandled as readonly ReportedError[])];
  const isLate = errors.length > 0 && errors.every(isOfTheMachine);
  const texts = errors.map(({ name = "Error", message = "" }) => `${name}: ${message}`);
  const refusal = texts.map((text) => REFUSAL.exec(text)?.[0]).find((text) => text !== undefined);
  if (refusal !== undefined) return { kind: "broken", reason: refusal, isLate: false };
  const [first = ""] = texts[0]?.split("\n") ?? [];
  if (atLoad.length > 0) return { kind: "broken", reason: first, isLate };
  if (errors.length > 0) return { kind: "failed", reason: isLate ? first : "", isLate };
  if (!module.ok()) return { kind: "failed", reason: "", isLate: false };
  const count = tests.filter((each) => each.result().state === "passed").length;
  if (count > 0) return { kind: "passed", reason: "", isLate: false };
  return { kind: "broken", reason: "no test ran", isLate: false };
}

/** What a loaded machine causes by itself: something was late, or the system took the worker process away. */
const isOfTheMachine = (error: ReportedError): boolean =>
  kindOfFailure(error) === "late" || /^\[vitest-pool\]|^Worker exited unexpectedly/.test(error.message ?? "");

process.on("message", (message) => {
  const asError = (error: unknown): Verdict => ({ kind: "broken", reason: String(error), isLate: false });
  void judge(message as Played)
    .catch(asError)
    .then((verdict) => process.send?.(verdict));
});
process.on("disconnect", () => process.exit());
