import { bad, good, type Probe } from "../probe.ts";

/** The configuration, with the token and certificates it names, can be used. */
export const probeConfig: Probe = async ({ config }) => {
  if (!(config instanceof Error)) return good(`${config.path} can be used.`);
  return bad(
    `${config.message}.`,
    config.kind === "forbidden"
      ? "Run it as root: sudo edge-agent doctor"
      : "Correct the file; edge-agent config check says whether it can be used.",
  );
};
