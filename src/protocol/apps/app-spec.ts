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
import { appFiles, findFileConflicts } from "./app-files.ts";
import type { EdgeError } from "../errors/errors.ts";
import { networkIssues } from "./app-network.ts";
import { checkOptionRules, optionIssues } from "./option-rules.ts";
import { IN_WORDS } from "../values/issue-words.ts";
import { invalidRequest, type RequestIssue, toDeployRequestError } from "../errors/request-error.ts";

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

/** The specification of an app as a request has it: files have their contents. */
const requestedAppSpecSchema = z
  .strictObject({ ...appSpecSchema.shape, files: appFiles.exactOptional() })
  .superRefine(checkOptionRules);

/** The same of a new app, whose name must not be a reserved one. */
export const newAppSpecSchema = requestedAppSpecSchema.safeExtend({ name: newAppName });

export type AppSpec = z.output<typeof appSpecSchema>;
export type RequestedAppSpec = z.output<typeof requestedAppSpecSchema>;
export type PortMapping = AppSpec["ports"][number];
export type Volume = AppSpec["volumes"][number];

export type Parsed<T> = { readonly ok: true; readonly spec: T } | { readonly ok: false; readonly error: EdgeError };
export type ParsedAppSpec = Parsed<AppSpec>;

/**
 * Validates the specification of an installed app, such as after an update. Errors: `ErrorNoName`,
 * `ErrorNoImage` (missing or empty), `InvalidRequest` with `details.issues` for anything else.
 */
export function parseAppSpec(input: unknown): ParsedAppSpec {
  return parse(appSpecSchema, input);
}

/** Validates the specification of an app as a request has it. Errors: as `parseAppSpec`. */
export function parseRequestedAppSpec(input: unknown): Parsed<RequestedAppSpec> {
  return parse(requestedAppSpecSchema, input);
}

/** Validates the specification of a new app as a request has it. Errors: as `parseAppSpec`. */
export function parseNewAppSpec(input: unknown): Parsed<RequestedAppSpec> {
  const parsed = parse(newAppSpecSchema, input);
  // Not part of the schema: what is stored or adopted stays readable.
  const issues = parsed.ok ? [...networkIssues(parsed.spec), ...optionIssues(parsed.spec)] : [];
  return issues.length > 0 ? { ok: false, error: invalidRequest(issues) } : parsed;
}

function parse<T extends Mounts>(schema: z.ZodType<T>, input: unknown): Parsed<T> {
  const result = schema.safeParse(input, IN_WORDS);
  if (!result.success) return { ok: false, error: toDeployRequestError(input, result.error, schema) };
  const issues = findHiddenFiles(result.data);
  return issues.length > 0 ? { ok: false, error: invalidRequest(issues) } : { ok: true, spec: result.data };
}

/** What an app has mounted at paths of its container. */
type Mounts = Pick<AppSpec, "volumes" | "devices" | "tmpfs"> & {
  readonly files?: readonly { readonly target: string; readonly directory?: boolean }[];
};

/** Returns the files of an app that would lie inside of a device file, or would be hidden by a mount. */
export function findHiddenFiles(spec: Mounts): RequestIssue[] {
  return findFileConflicts(spec.files, mountsOf(spec));
}

function mountsOf({ volumes, devices = [], tmpfs = [] }: Mounts) {
  return [
    // Paths of the device, and volumes of the agent.
    ...volumes.map(({ target }) => ({ target, field: "volumes" })),
    ...devices.map(({ local, target = local }) => ({ target, field: "devices" })),
    ...tmpfs.map(({ target }) => ({ target, field: "tmpfs" })),
  ];
}
