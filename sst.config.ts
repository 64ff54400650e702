/** What `sst deploy` reads. Stages named `production` keep their runs whatever happens; others leave nothing behind. */
export default $config({
  app(input) {
    const isProduction = input?.stage === "production";
    return { name: "cairn", home: "aws", removal: isProduction ? "retain" : "remove", protect: isProduction };
  },
  async run() {
    const { cairn } = await import("./infra/sst.ts");
    return cairn("Cairn");
  },
});
