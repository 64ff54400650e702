/** A store with thousands of runs: copies of the row of one that has ended, written as the store writes rows. */
import { checksumOf } from "../../../src/codec/checksum.ts";
import { atomically, openStore } from "../../../src/adapters/local/store/database.ts";
import { sqliteRunTable } from "../../../src/adapters/local/store/run-table.ts";
import { storedRow } from "../../../src/adapters/local/store/row-text.ts";

/** Adds that many copies of the run to the store in `dir`, each a second older than the one before it. */
export async function addCopies(dir: string, of: { readonly run: string; readonly count: number }): Promise<void> {
  const store = openStore({ dir, create: false });
  try {
    const row = await sqliteRunTable(store).read(of.run, 0);
    if (row === null) throw new Error(`there is no run ${of.run}`);
    const insert = store.rows.prepare(
      `INSERT INTO runs (run, tenant, agent, asks, status, statusSince, alive, expiresAtSec, row, journal, parts)
       VALUES (:run, :tenant, :agent, 0, :status, :statusSince, 0, :expiresAtSec, :row, :journal, :parts)`,
    );
    const { tenant, agent, status, expiresAtSec } = row;
    atomically(store, () => {
      for (let index = 1; index <= of.count; index += 1) {
        const at = row.createdAt - index * 1_000;
        const run = `${tenant}-${index.toString(2).replaceAll("0", "a").replaceAll("1", "b").padStart(26, "a")}`;
        const copy = { ...row, run, createdAt: at, statusSince: at, lastCheckpointAt: at, journal: null };
        const checked = { ...copy, checksum: checksumOf(copy) };
        insert.run({ run, tenant, agent, status, statusSince: at, expiresAtSec, ...storedRow(checked) });
      }
    });
  } finally {
    store.close();
  }
}
