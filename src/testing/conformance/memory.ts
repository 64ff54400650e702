/** The contract of `Memory`. */
import type { Memory, NewMemoryEntry } from "../../ports/memory.ts";
import { type Case, must, mustEqual } from "./case.ts";

/** What the cases need of a world. */
export interface MemoriesWorld {
  /** The memory of that scope of that tenant. No case and no earlier round has used the tenants. */
  readonly memoryOf: (place: { readonly tenant: string; readonly scope: string }) => Memory;
  readonly tenants: readonly [string, string];
}

const entry = (id: string, text: string, more: Partial<NewMemoryEntry> = {}): NewMemoryEntry => ({ id, text, ...more });

const mine = ({ memoryOf, tenants: [tenant] }: MemoriesWorld): Memory => memoryOf({ tenant, scope: "notes" });

const idsOf = (found: readonly { readonly id: string }[]): readonly string[] => found.map(({ id }) => id);

export const memoryCases: readonly Case<MemoriesWorld>[] = [
  {
    name: "keeps an entry whole, and writes the same entry once",
    run: async (world) => {
      const memory = mine(world);
      const given = entry("a", "Ferries leave at nine.", { tags: ["ferry"], source: "the timetable", etag: "v1" });
      const first = await memory.put(given);
      const [kept] = await memory.get(["a", "b"]);
      mustEqual(first.kind, "kept", "the first put");
      mustEqual((await memory.put(given)).kind, "unchanged", "the second put");
      const { at, digest, ...says } = kept ?? { at: 0, digest: "" };
      mustEqual(says, given, "the entry");
      must(at > 0 && first.kind === "kept" && digest === first.digest, "an entry has a time and its digest");
      mustEqual(await memory.get(["a"]), [kept], "the entry after the second put");
    },
  },
  {
    name: "replaces an entry that says something else, and gives it another digest",
    run: async (world) => {
      const memory = mine(world);
      const before = await memory.put(entry("a", "It leaves at nine."));
      const after = await memory.put(entry("a", "It leaves at ten."));
      mustEqual([before.kind, after.kind], ["kept", "kept"], "the puts");
      must(before.kind === "kept" && after.kind === "kept" && before.digest !== after.digest, "the digests differ");
      const found = await memory.get(["a"]);
      mustEqual([found.length, found[0]?.text], [1, "It leaves at ten."], "the entry");
    },
  },
  {
    name: "lets twenty writers of one new entry write it once",
    run: async (world) => {
      const puts = await Promise.all(
        Array.from({ length: 20 }, () => mine(world).put(entry("a", "It leaves at nine."))),
      );
      mustEqual(puts.filter(({ kind }) => kind === "kept").length, 1, "how many wrote it");
      mustEqual(puts.filter(({ kind }) => kind === "unchanged").length, 19, "how many found it");
    },
  },
  {
    name: "finds entries by their words and tags, best first, within the limit",
    run: async (world) => {
      const memory = mine(world);
      await memory.put(entry("rare", "The ferry to Lisbon.", { tags: ["travel"] }));
      await memory.put(entry("often", "Ferry, ferry, ferry: all about the ferry.", { tags: ["ships"] }));
      await memory.put(entry("other", "Nothing of that kind.", { tags: ["travel"] }));
      mustEqual(idsOf(await memory.search("LISBON ferry")), ["rare", "often"], "both words, then one");
      mustEqual(idsOf(await memory.search("ferry", { limit: 1 })).length, 1, "the limit");
      mustEqual(idsOf(await memory.search("", { tags: ["travel"] })).toSorted(), ["other", "rare"], "those with a tag");
      mustEqual(await memory.search("zeppelin"), [], "a word that no entry has");
      const [hit] = await memory.search("lisbon");
      mustEqual([hit?.snippet, (hit?.score ?? 0) > 0], ["The ferry to Lisbon.", true], "the hit");
    },
  },
  {
    name: "forgets an entry, and keeps it again after that",
    run: async (world) => {
      const memory = mine(world);
      await memory.put(entry("a", "It leaves at nine."));
      mustEqual(await memory.forget("a"), { kind: "forgotten" }, "the first time");
      mustEqual(await memory.forget("a"), { kind: "missing" }, "the second time");
      mustEqual([await memory.get(["a"]), await memory.search("nine")], [[], []], "what is left");
      mustEqual((await memory.put(entry("a", "It leaves at nine."))).kind, "kept", "the entry again");
    },
  },
  {
    name: "keeps tenants and scopes apart",
    run: async (world) => {
      const { memoryOf, tenants } = world;
      const [first, second] = tenants;
      await mine(world).put(entry("a", "It leaves at nine."));
      for (const other of [memoryOf({ tenant: second, scope: "notes" }), memoryOf({ tenant: first, scope: "other" })]) {
        mustEqual([await other.get(["a"]), await other.search("nine")], [[], []], "what another scope sees");
        mustEqual(await other.forget("a"), { kind: "missing" }, "what another scope forgets");
      }
      mustEqual(idsOf(await mine(world).get(["a"])), ["a"], "the entry after that");
    },
  },
  {
    name: "refuses an entry that is too large, or has no ID, text or tag of the right form",
    run: async (world) => {
      const memory = mine(world);
      const wrong = [
        entry("", "text"),
        entry("two words", "text"),
        entry("a", " "),
        entry("a", "x".repeat(4_097)),
        entry("a", "text", { tags: [""] }),
        entry("a", "text", { tags: Array.from({ length: 17 }, (_, n) => `tag ${n}`) }),
        entry("a", "text", { source: "s".repeat(1_025) }),
        entry("a", "text", { lifeMs: 0 }),
      ];
      for (const each of wrong) mustEqual((await memory.put(each)).kind, "refused", JSON.stringify(each).slice(0, 60));
      mustEqual(await memory.search(""), [], "what is kept of them");
    },
  },
  {
    name: "asks a source only for what changed",
    run: async (world) => {
      const memory = mine(world);
      const asked: unknown[] = [];
      const fetch = (etag: string) =>
        memory.fetch("https://example.org/a", async (kept) => {
          asked.push(kept?.etag ?? null);
          return kept?.etag === etag ? { kind: "unchanged" } : { kind: "fetched", etag, content: `content ${etag}` };
        });
      const froms = [(await fetch("1")).from, (await fetch("1")).from, (await fetch("2")).from];
      mustEqual(froms, ["source", "confirmed", "source"], "where the content came from");
      mustEqual(asked, [null, "1", "1"], "the versions that the source was asked with");
      const fresh = await memory.fetch("https://example.org/a", () => Promise.reject(new Error("it is fresh")), {
        freshMs: 86_400_000,
      });
      mustEqual([fresh.from, fresh.content], ["kept", "content 2"], "the content while it is fresh");
    },
  },
];
