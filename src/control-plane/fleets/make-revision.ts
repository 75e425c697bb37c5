import type { Clock } from "../../lib/clock.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { invalidRequest } from "../../protocol/errors/request-error.ts";
import type { RevisionRequest } from "../../protocol/fleets/revision.ts";
import type { Fleet, Person, Revision, RevisionApp, RevisionContent } from "../core/fleets/fleet.ts";
import { auditEntry, type AuditOrigin } from "../accounts/audit-entry.ts";
import { revisionPurpose, type Sealer } from "../sealing/sealer.ts";
import type { FleetStore } from "../store/fleets.ts";
import type { ImageResolver } from "../images/image-resolver.ts";
import { resolveImages } from "../images/resolve-images.ts";
import type { ServedReleases } from "../releases/served-releases.ts";
import { type NamedUpload, uploadsOfFiles } from "../core/named-uploads.ts";
import type { Uploads } from "../uploads/uploads.ts";
import { encodeContent, isSameContent, openContent } from "./revision-content.ts";

export interface RevisionMakerOptions {
  readonly store: Pick<FleetStore, "createRevision" | "findRevision">;
  readonly sealer: Sealer;
  readonly images: ImageResolver;
  readonly releases: Pick<ServedReleases, "requireRelease">;
  readonly uploads: Pick<Uploads, "use">;
  readonly clock: Clock;
}

/** Who asks for something. */
export interface Requester {
  readonly person: Person;
  readonly origin: AuditOrigin;
}

/**
 * Makes the next revision of the fleet, or returns the newest one if that has the same content. Errors: `ImageNotResolved`,
 * `AgentReleaseNotFound`, `InvalidRequest` for an app that the fleet does not own, `FleetNotFound` if it was removed meanwhile.
 */
export async function makeRevision(
  { store, sealer, images, releases, uploads, clock }: RevisionMakerOptions,
  fleet: Fleet,
  request: RevisionRequest,
  { person, origin }: Requester,
  signal: AbortSignal,
): Promise<{ readonly revision: Revision; readonly isNew: boolean }> {
  requireOwnApps(fleet, request);
  const named = uploadsOf(request);
  await uploads.use(fleet.accountId, named);
  const agentVersion = request.agent?.version;
  const agent = agentVersion === undefined ? undefined : await requireAgent(releases, agentVersion);
  const { apps, entries } = await resolveApps(images, request, signal);
  const content = { apps: entries, agent };
  const newest = fleet.lastRevision > 0 ? await store.findRevision(fleet.id, fleet.lastRevision) : undefined;
  if (newest && isSameContent(openContent(sealer, newest), content)) return { revision: newest.revision, isNew: false };
  const { bytes, hash } = encodeContent(content);
  const audit = auditEntry(origin, clock, {
    action: "revision.created",
    subject: { kind: "fleet", id: fleet.id, name: fleet.name },
    details: {
      revision: fleet.lastRevision + 1,
      apps: apps.map(({ name }) => name),
      ...(agentVersion !== undefined && { agent_version: agentVersion }),
    },
  });
  const { comment } = request;
  const record = { fleetId: fleet.id, apps, agentVersion, hash, comment, createdAtMs: clock.now(), createdBy: person };
  const seal = await sealer.sealing();
  const toStored = (number: number) => ({
    revision: { ...record, number },
    uploads: [...new Set(named.map(({ upload }) => upload.sha256))],
    ...seal(bytes, revisionPurpose(fleet.id, number)),
  });
  const made = await store.createRevision(fleet.id, { hash, apps }, toStored, audit);
  if (made.kind === "no_fleet") throw new EdgeError("FleetNotFound");
  // The apps of the fleet were changed since it was read.
  if (made.kind === "foreign_app")
    throw invalidRequest([{ path: "apps", reason: `the fleet does not own ${made.app}` }]);
  return { revision: made.revision, isNew: made.kind === "created" };
}

/** Pins the release by its digest: a revision never changes. */
async function requireAgent(
  releases: RevisionMakerOptions["releases"],
  version: string,
): Promise<NonNullable<RevisionContent["agent"]>> {
  return { version, served: await releases.requireRelease(version) };
}

function uploadsOf({ apps }: RevisionRequest): readonly NamedUpload[] {
  return apps.flatMap((entry, index) => ("app" in entry ? uploadsOfFiles(entry.app.files, `apps[${index}].app.`) : []));
}

function requireOwnApps({ apps: owned }: Fleet, { apps }: RevisionRequest): void {
  const issues = apps.flatMap((entry, index) => {
    const name = "app" in entry ? entry.app.name : entry.name;
    if (owned.includes(name)) return [];
    return [{ path: `apps[${index}]${"app" in entry ? ".app" : ""}.name`, reason: `the fleet does not own ${name}` }];
  });
  if (issues.length > 0) throw invalidRequest(issues);
}

async function resolveApps(
  images: ImageResolver,
  { apps: requested, registry_auth: auth }: RevisionRequest,
  signal: AbortSignal,
): Promise<{ readonly apps: readonly RevisionApp[]; readonly entries: RevisionContent["apps"] }> {
  const written = requested.flatMap((entry) => ("app" in entry ? [entry.app.image] : []));
  const resolved = await resolveImages(images, written, auth, signal);
  const entries = requested.map((entry) => {
    if (!("app" in entry)) return { absent: entry.name };
    const { app, depends_on } = entry;
    return { app: { ...app, image: resolved.get(app.image) ?? app.image }, depends_on };
  });
  const apps = requested.map((entry): RevisionApp => {
    if (!("app" in entry)) return { name: entry.name, image: undefined, shownImage: undefined };
    const { name, image } = entry.app;
    return { name, image: resolved.get(image), shownImage: image };
  });
  return { apps, entries };
}
