import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { natsOptionsOf } from "../../src/control-plane/bus/nats/configured.ts";
import { configSchema } from "../../src/control-plane/config/config.ts";
import { databaseOf } from "../../src/control-plane/config/database-config.ts";
import { readManifests } from "../support/repo/kubernetes.ts";

const FOLDER = "packaging/recipes";

async function configurationOf(recipe: string): Promise<unknown> {
  if (recipe !== "kubernetes") return JSON.parse(await readFile(`${FOLDER}/${recipe}`, "utf8"));
  const manifests = await readManifests(`${FOLDER}/kubernetes`);
  const found = manifests.find(({ kind }) => kind === "ConfigMap") as { readonly data?: Record<string, string> };
  return JSON.parse(found.data?.["config.json"] ?? "");
}

it.each(["systemd/config.json", "compose/edge-control.json", "kubernetes"])(
  "the configuration of %s is valid, for several instances",
  async (recipe) => {
    const config = configSchema.parse(await configurationOf(recipe));
    expect(databaseOf(config).kind).toBe("postgres");
    expect(natsOptionsOf(config)).toBeDefined();
    expect(config.stop_delay_s).toBeGreaterThan(0);
  },
);
