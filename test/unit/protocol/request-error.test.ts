import { describe, expect, it } from "vitest";
import { z } from "zod";
import { parseAppUpdate } from "../../../src/protocol/apps/app-update.ts";
import { deployRequestSchema } from "../../../src/protocol/apps/deploy-request.ts";
import { IN_WORDS } from "../../../src/protocol/values/issue-words.ts";
import { listIssues } from "../../../src/protocol/errors/request-error.ts";

const APP = { name: "app", image: "example/app:1" };

function reasons(schema: z.ZodType, input: unknown): Record<string, string> {
  const result = schema.safeParse(input, IN_WORDS);
  if (result.success) return {};
  return Object.fromEntries(listIssues(result.error, schema).map(({ path, reason }) => [path, reason]));
}

const meant = (name: string): string => `unknown field; did you mean \`${name}\`?`;

describe("issues of a request", () => {
  it("suggest the field that was meant, at its place in the request", () => {
    const input = {
      ...APP,
      environment: [],
      ports: [{ host_port: 30_000, target_port: 80, proto: "udp" }],
      volumes: [{ local: "/data", target: "/data", read_only: true }],
      healthcheck: { command: ["true"], interval: 5 },
      urgnet: true,
    };
    expect(reasons(deployRequestSchema, input)).toEqual({
      environment: meant("environments"),
      urgnet: meant("urgent"),
      "ports[0].proto": meant("protocol"),
      "volumes[0].read_only": meant("readonly"),
      "healthcheck.interval": meant("interval_s"),
    });
  });

  it("of an update suggest what it can change, and not the name", () => {
    const parsed = parseAppUpdate({ memory: 1, devices: [{ local: "/dev/null", destination: "/x" }], nmae: "x" });
    expect(parsed).toMatchObject({
      ok: false,
      error: {
        message: `The request is not valid: devices[0].destination: ${meant("target")} (and 2 more)`,
        details: {
          issues: [
            { path: "devices[0].destination", reason: meant("target") },
            { path: "memory", reason: meant("memory_limit") },
            { path: "nmae", reason: "unknown field" },
          ],
        },
      },
    });
  });

  it("of alternatives are those of the one that fits best", () => {
    expect(reasons(deployRequestSchema, { ...APP, registry_auth: { user: "u", password: "p" } })).toEqual({
      "registry_auth.username": "is required",
      "registry_auth.user": meant("username"),
    });
    expect(reasons(deployRequestSchema, { ...APP, registry_auth: "u:p" })).toEqual({
      registry_auth: "must be an object",
    });
  });

  it("find fields below records, transformations, defaults and null", () => {
    const inner = z.strictObject({ interval_s: z.number().optional() });
    const schema = z.strictObject({
      map: z.record(z.string(), inner),
      list: z.array(inner.nullable().default({})).transform((list) => list.length),
    });
    expect(reasons(schema, { map: { a: { interval: 1 } }, list: [{}, { intervals: 1 }] })).toEqual({
      "map.a.interval": meant("interval_s"),
      "list[1].intervals": meant("interval_s"),
    });
  });

  it("suggest for the first 20 unknown fields of an object only", () => {
    const input = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`image${index}`, 1]));
    const found = Object.values(reasons(deployRequestSchema, { ...APP, ...input }));
    expect(found.filter((reason) => reason === meant("image"))).toHaveLength(20);
    expect(found).toHaveLength(1000);
  });
});
