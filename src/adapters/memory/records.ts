/** Records in memory. Values are copied on the way in and out. */
import { undamagedRecord } from "../../codec/record.ts";
import {
  type FoundRecord,
  type RecordKey,
  type Records,
  type StoredRecord,
  damagedRecord,
  isDamagedRecord,
  isRecordExpired,
  partedRecords,
} from "../../ports/records.ts";

/** Records by their key, which tests may read and change. A record without its body is damaged. */
export type MemoryRecords = Map<string, StoredRecord>;

const keyOf = ({ kind, about, id }: RecordKey): string => JSON.stringify([kind, about, id]);

/** The place of a record in a list: its time, then its ID. */
type Place = readonly [at: number, id: string];

const isBefore = ([at, id]: Place, [otherAt, otherId]: Place): boolean =>
  at < otherAt || (at === otherAt && id < otherId);

export function memoryRecords(stored: MemoryRecords): Records {
  const look = (key: RecordKey, now: number): FoundRecord | null => {
    const found = stored.get(keyOf(key));
    return found === undefined || isRecordExpired(found, now) ? null : copyOf(found);
  };
  const find = (key: RecordKey, now: number): StoredRecord | null => undamagedRecord(look(key, now));
  return {
    add: async (record, now) => {
      const found = find(record, now);
      if (found !== null) return { kind: "exists", record: found };
      stored.set(keyOf(record), structuredClone({ ...record, version: 1 }));
      return { kind: "added" };
    },
    replace: async (record, now) => {
      const found = find(record, now);
      if (found?.version !== record.version) return { kind: "changed" };
      const { body, expiresAtSec } = structuredClone(record);
      stored.set(keyOf(record), { ...found, body, expiresAtSec, version: found.version + 1 });
      return { kind: "replaced" };
    },
    overwriteDamaged: async (record, now) => {
      const found = look(record, now);
      if (found === null || !isDamagedRecord(found)) return { kind: "changed" };
      stored.set(keyOf(record), structuredClone({ ...record, version: 1 }));
      return { kind: "replaced" };
    },
    get: async (key, now) => find(key, now),
    list: async ({ kind, by, after, limit, now }) => {
      const placeOf = ({ at, id }: StoredRecord): Place => ["tenant" in by ? at : 0, id];
      const behind = after === null ? null : placeIn(after);
      const found = [...stored.values()]
        .filter((each) => each.kind === kind && !isRecordExpired(each, now))
        .filter(({ tenant, about }) => ("tenant" in by ? tenant === by.tenant : about === by.about))
        .filter((each) => behind === null || isBefore(placeOf(each), behind))
        .toSorted((one, other) => (isBefore(placeOf(one), placeOf(other)) ? 1 : -1));
      const page = found.slice(0, limit);
      const last = page.at(-1);
      const next = found.length > limit && last !== undefined ? JSON.stringify(placeOf(last)) : null;
      return { ...partedRecords(page.map(copyOf)), next };
    },
  };
}

const copyOf = (record: StoredRecord): FoundRecord =>
  (record.body as unknown) === undefined ? damagedRecord(record, "it has no body") : structuredClone(record);

/** Before every record, for a cursor that no list gave. */
const NOWHERE: Place = [-1, ""];

function placeIn(cursor: string): Place {
  try {
    const [at, id] = JSON.parse(cursor) as readonly unknown[];
    return typeof at === "number" && typeof id === "string" ? [at, id] : NOWHERE;
  } catch {
    return NOWHERE;
  }
}
