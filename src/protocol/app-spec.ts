import { z } from "zod";
import {
  appName,
  environments,
  hostNetwork,
  imageReference,
  newAppName,
  ports,
  privileged,
  volumes,
} from "./app-fields.ts";
import { appExtras } from "./app-extras.ts";
import type { EdgeError } from "./errors.ts";
import { networkIssues } from "./app-network.ts";
import { checkOptionRules } from "./option-rules.ts";
import { invalidRequest, toDeployRequestError } from "./request-error.ts";

/** The specification of an app, with defaults filled in. Fields that have no default stay absent. */
export const appSpecSchema = z
  .strictObject({
    name: appName,
    image: imageReference,
    host_network: hostNetwork.default(false),
    privileged: privileged.default(false),
    environments: environments.default([]),
    ports: ports.default([]),
    volumes: volumes.default([]),
    ...appExtras,
  })
  .superRefine(checkOptionRules)
  .meta({
    id: "AppSpec",
    examples: [
      {
        name: "node-red",
        image: "registry.example.com/team/node-red:4.1",
        environments: [{ key: "TZ", value: "UTC" }],
        ports: [{ host_port: 30_080, target_port: 1880 }],
        volumes: [{ local: "/var/lib/node-red", target: "/data" }],
      },
    ],
  });

/** The specification of a new app, whose name must not be a reserved one. */
export const newAppSpecSchema = appSpecSchema.safeExtend({ name: newAppName });

export type AppSpec = z.output<typeof appSpecSchema>;
export type PortMapping = AppSpec["ports"][number];
export type Volume = AppSpec["volumes"][number];

export type ParsedAppSpec =
  | { readonly ok: true; readonly spec: AppSpec }
  | { readonly ok: false; readonly error: EdgeError };

/**
 * Validates the specification of an installed app, such as after an update. Errors: `ErrorNoName`,
 * `ErrorNoImage` (missing or empty), `InvalidRequest` with `details.issues` for anything else.
 */
export function parseAppSpec(input: unknown): ParsedAppSpec {
  return parse(appSpecSchema, input);
}

/** Validates the specification of a new app. Errors: as `parseAppSpec`. */
export function parseNewAppSpec(input: unknown): ParsedAppSpec {
  const parsed = parse(newAppSpecSchema, input);
  // Not part of the schema: what is stored or adopted stays readable.
  const issues = parsed.ok ? networkIssues(parsed.spec) : [];
  return issues.length > 0 ? { ok: false, error: invalidRequest(issues) } : parsed;
}

function parse(schema: typeof appSpecSchema, input: unknown): ParsedAppSpec {
  const result = schema.safeParse(input);
  if (result.success) return { ok: true, spec: result.data };
  return { ok: false, error: toDeployRequestError(input, result.error, schema) };
}
