import { mkdir, writeFile } from "node:fs/promises";
import { check, defineAgent, tool } from "cairn-run";
import { z } from "zod";

const places = z.object({ results: z.array(z.object({ latitude: z.number(), longitude: z.number() })).min(1) });

async function read(address: string, signal: AbortSignal): Promise<unknown> {
  const answer = await fetch(address, { signal });
  if (!answer.ok) throw new Error(`${new URL(address).host} answered ${answer.status}`);
  return answer.json();
}

export const packer = defineAgent({
  name: "packer",
  version: "1",
  model: "anthropic:claude-haiku-4-5",
  instructions: "Write a packing list for the trip. Read the forecast first, and save the list once.",
  task: z.object({ place: z.string(), days: z.int().min(1).max(14) }),
  title: ({ task }) => `${task.days} days in ${task.place}`,
  tools: {
    // `none`: it changes nothing, so after a crash it simply runs again.
    forecast: tool({
      description: "Reads the forecast of a place, day by day.",
      input: z.object({ place: z.string() }),
      effect: "none",
      run: async ({ input, signal }) => {
        const name = encodeURIComponent(input.place);
        const found = await read(`https://geocoding-api.open-meteo.com/v1/search?count=1&name=${name}`, signal);
        const [at] = places.parse(found).results;
        const where = `latitude=${at?.latitude}&longitude=${at?.longitude}`;
        return read(
          `https://api.open-meteo.com/v1/forecast?${where}&daily=temperature_2m_max,rain_sum&forecast_days=14`,
          signal,
        );
      },
    }),
    // `keyed`: each try of a call has the same key. Here the key names the file, so a second try writes the same file.
    save: tool({
      description: "Saves the packing list.",
      input: z.object({ text: z.string().min(1) }),
      effect: "keyed",
      run: async ({ input, key }) => {
        await mkdir("lists", { recursive: true });
        await writeFile(`lists/${key}.md`, input.text);
        return { saved: `lists/${key}.md` };
      },
    }),
  },
  done: [
    check(
      "saved",
      ({ calls }) =>
        calls.some(({ tool: name, outcome }) => name === "save" && outcome === "succeeded") || "the list is not saved",
    ),
  ],
  budget: { usd: 0.1, beats: 10 },
});
