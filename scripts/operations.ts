/**
 * `npm run operations`: writes the table of watches into docs/operations.md. A test fails if the page differs from the
 * alarms.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { operationsTable } from "../infra/operations.ts";

const FILE = join(import.meta.dirname, "..", "docs", "operations.md");
const BETWEEN = /(?<=<!-- watches:begin -->\n)[^]*(?=\n<!-- watches:end -->)/;

writeFileSync(FILE, readFileSync(FILE, "utf8").replace(BETWEEN, operationsTable));
