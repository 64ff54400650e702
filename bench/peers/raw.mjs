/** The raw loop: it keeps the transcript in memory and stores nothing. */
export const open = async (_dir, steps) => ({
  run: async () => {
    for (let run = 0; run < steps.runs; run += 1) {
      const messages = [];
      for (let turn = 0; turn < steps.beats; turn += 1) {
        messages.push({ role: "assistant", text: steps.model(turn) }, { role: "tool", text: steps.tool(turn) });
        await Promise.resolve();
      }
    }
  },
});
