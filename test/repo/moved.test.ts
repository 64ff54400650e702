/** The page of moved files knows each path that a design record names and that is not there, and leads to real files. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { MOVED_PAGE, goneFromRecords } from "../../scripts/moved.ts";

const ROWS = [...readFileSync(MOVED_PAGE, "utf8").matchAll(/^\| `(\S+)` \| (.+) \| ([\d, ]+) \|$/gm)];

test("the page has the paths that records name and that are not there, and no other: npm run moved writes it", () => {
  expect(ROWS.map(([, path, , records]) => [path, records])).toEqual(
    [...goneFromRecords()].map(([path, records]) => [path, records.join(", ")]),
  );
});

test("each row leads to a file of today, or says that there is none", () => {
  const targets = ROWS.map(([, , today]) => today ?? "").filter((today) => today !== "removed");
  expect(targets.length).toBeGreaterThan(0);
  const unknown = targets.filter(
    (today) => !existsSync(join(dirname(MOVED_PAGE), /\((.+)\)$/.exec(today)?.[1] ?? "no link")),
  );
  expect(unknown).toEqual([]);
});
