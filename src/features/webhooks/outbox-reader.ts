/** Reads a queue of the outbox from its beginning, again and again: what is urgent first, then the oldest. */
import { Unreadable } from "../../codec/canonical.ts";
import { sentenceOf } from "../../codec/value.ts";
import { alarm } from "../../history/alarm.ts";
import { runInEntry, subjectsOf } from "./outbox.ts";
import type { StoredRecord } from "../../ports/records.ts";
import { StoreUnreachable, type World } from "../../ports/world.ts";

const PAGE_RECORDS = 100;

export class OutboxReader {
  readonly #world: World;
  readonly #queue: string;
  /** Behind the pages that had nothing any more. A store may keep records for days after they have expired. */
  readonly #from = new Map<string, string>();
  /** Entries that this reader left where they are: damaged ones, and those whose work failed. */
  readonly #left = new Set<string>();

  constructor(world: World, queue: string) {
    this.#world = world;
    this.#queue = queue;
  }

  /** The first entries that are wanted, at most `limit`. */
  async first(limit: number, isWanted: (record: StoredRecord) => boolean): Promise<readonly StoredRecord[]> {
    const found: StoredRecord[] = [];
    for (const about of subjectsOf(this.#queue)) {
      let after: string | null = this.#from.get(about) ?? null;
      let isEmpty = true;
      do {
        const { clock, records } = this.#world;
        const query = { kind: "webhook", by: { about }, after, limit: PAGE_RECORDS, now: clock.now() } as const;
        const page = await records.list(query);
        for (const { id, why } of page.damaged) this.#reportDamage(id, why);
        found.push(...page.records.filter((record) => !this.#left.has(record.id) && isWanted(record)));
        isEmpty &&= page.records.length === 0 && page.damaged.length === 0;
        if (isEmpty && page.next !== null) this.#from.set(about, page.next);
        after = page.next;
      } while (after !== null && found.length < limit);
      if (found.length >= limit) break;
    }
    return found.slice(0, limit);
  }

  /** Leaves the entry where it is: this reader does not return it again. */
  leave({ id }: Pick<StoredRecord, "id">): void {
    this.#left.add(id);
  }

  /** An entry whose work fails stops no other one. A store that does not answer stops all. */
  async guarded<T>(record: StoredRecord, work: () => Promise<T>): Promise<T | null> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StoreUnreachable) throw error;
      this.leave(record);
      const what = error instanceof Unreadable ? "Unreadable" : "WebhookFailed";
      const why = `a notification is not delivered: ${sentenceOf(error)}`;
      alarm(this.#world, runInEntry(record.id), { what, why });
      return null;
    }
  }

  #reportDamage(id: string, reason: string): void {
    if (this.#left.has(id)) return;
    this.#left.add(id);
    const why = `a notification is not delivered: the entry ${id} of the outbox is damaged: ${reason}`;
    alarm(this.#world, runInEntry(id), { what: "Unreadable", why });
  }
}
