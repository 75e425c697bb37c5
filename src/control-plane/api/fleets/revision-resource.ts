import { z } from "zod";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import type { RevisionBody } from "../../../protocol/fleets/revision.ts";
import { integerString } from "../../../protocol/values/scalars.ts";
import type { Fleet, Revision } from "../../core/fleets/fleet.ts";
import type { StoredRevision } from "../../store/fleets.ts";
import type { Store } from "../../store/store.ts";
import { fleetParams } from "./fleet-resource.ts";

/** Databases store it in four bytes. */
const MAX_NUMBER = 2_147_483_647;

export const revisionNumber = integerString(1, MAX_NUMBER);

/** Path parameters of every endpoint of one revision. */
export const revisionParams = z.object({
  ...fleetParams.shape,
  number: revisionNumber.meta({ description: "Number of the revision." }),
});

/** Finds a revision of the fleet. Error: `RevisionNotFound`. */
export async function findRevision(
  { fleets }: Pick<Store, "fleets">,
  fleet: Fleet,
  number: number,
): Promise<StoredRevision> {
  const revision = await fleets.findRevision(fleet.id, number);
  if (!revision) throw new EdgeError("RevisionNotFound", undefined, { revision: number });
  return revision;
}

export function toRevisionBody(revision: Revision): RevisionBody {
  const { number, comment, apps, agentVersion, hash, createdAtMs, createdBy } = revision;
  return {
    number,
    comment: comment ?? null,
    apps: apps.map(({ name, image, shownImage }) => ({
      name,
      image: image ?? null,
      written_image: shownImage ?? null,
    })),
    agent: agentVersion === undefined ? null : { version: agentVersion },
    hash,
    created_at: Math.floor(createdAtMs / 1000),
    created_by: createdBy,
  };
}
