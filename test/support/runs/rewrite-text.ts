/** Changes the stored text of rows past every port. */
import { summed } from "../../../src/adapters/local/store/row-text.ts";
import type { Store } from "../../../src/adapters/local/store/database.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Stores the changed fields of that row, with the checksum that a writer of this text would store. */
export function rewriteText({ rows }: Pick<Store, "rows">, run: string, change: (fields: Fields) => Fields): void {
  const found = rows.prepare("SELECT row, journal FROM runs WHERE run = ?").get(run);
  const { sum: _, ...fields } = JSON.parse(String(found?.["row"])) as Fields;
  const open = JSON.stringify(change(fields)).slice(0, -1);
  const journal = (found?.["journal"] ?? null) as Uint8Array | null;
  rows.prepare("UPDATE runs SET row = ? WHERE run = ?").run(summed(open, journal), run);
}
