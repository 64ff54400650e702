/**
 * `npm run operations`: writes the table of watches into docs/operations.md, the table of cracks into
 * docs/topologies.md, and the persistence boundary into docs/persistence.md. A test fails if a page differs from its table.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { boundaryTable, groupsTable } from "../src/history/boundary.ts";
import { cracksTable, operationsTable } from "../infra/operations.ts";

const DOCS = join(import.meta.dirname, "..", "docs");

function write(page: string, name: string, table: string): void {
  const file = join(DOCS, page);
  const between = new RegExp(`(?<=<!-- ${name}:begin -->\\n)[^]*(?=\\n<!-- ${name}:end -->)`);
  writeFileSync(
    file,
    readFileSync(file, "utf8").replace(between, () => table),
  );
}

write("operations.md", "watches", operationsTable());
write("topologies.md", "cracks", cracksTable());
write("persistence.md", "boundary", boundaryTable());
write("persistence.md", "groups", groupsTable());
