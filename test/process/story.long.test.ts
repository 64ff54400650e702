/** `npm run story`: the worked example, with a real death, at a tenth of its pace. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const SCRIPT = join(import.meta.dirname, "..", "..", "scripts", "story.ts");
const PACE = 0.1;

test("the story kills a trip 18 s after its start, resumes it from c3, and measures what that saves", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, "--pace", String(PACE)]);
  const steps =
    /step 1: searchFlights +\$0\.05 {3}(.*) s\nstep 2: searchHotels +\$0\.04 {3}(.*) s\nstep 3: compare +\$0\.08 {3}(.*) s\n/;
  const [, ...took] = steps.exec(stdout) ?? [];
  expect(took).toHaveLength(3);
  // The pace gives the least times; a busy machine takes longer.
  const crash = Number(/step 4: bookFlight .*CRASH: kill -9 \d+ after (\d+\.\d) s/.exec(stdout)?.[1]);
  expect(crash).toBeGreaterThanOrEqual(18 * PACE);
  expect(stdout).toContain(
    "●────────●────────●────────✗────────○────────○────────○\n  [c1]     [c2]     [c3]     crash\n",
  );
  expect(stdout).toMatch(/run local-[a-z2-7]{26}, last_good = c3 \(version \d+\)/);
  expect(stdout).toContain("bookFlight is sent again with the key trip_42_book_flight_v1.");
  expect(stdout).toContain("The airline got 2 requests and has 1 booking.\n        completed, $0.17 in all.");
  expect(stdout).toContain("it would repeat c1 to c3: $0.34 in all.");
  // The three steps take 5 s at their full pace.
  const saved = Number(/Saved: \$0\.17 and (\d+\.\d) s\./.exec(stdout)?.[1]);
  expect(saved).toBeGreaterThanOrEqual(5 * PACE);
  // Each of the four figures is rounded to a tenth of a second.
  const sum = took.reduce((all, each) => all + Number(each), 0);
  expect(Math.abs(saved - sum)).toBeLessThan(0.25);
});
