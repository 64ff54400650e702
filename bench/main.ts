/**
 * `npm run bench [-- BEATS]`: one long run, tenth by tenth (`beats.ts`). `npm run bench -- --small`: counts what a beat
 * asks of its store and of the disk, and exits 1 if a count is above its bound (`small.ts`).
 */
if (process.argv.includes("--small")) await import("./small.ts");
else await import("./beats.ts");
