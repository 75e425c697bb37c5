import type { Store } from "../store/store.ts";
import { AesSealer, type SealingKey } from "./aes-sealer.ts";
import { channelPurpose, credentialsPurpose, revisionPurpose, variablePurpose } from "./sealer.ts";

/** How many values are read at a time: a revision may have a megabyte. */
const BATCH = 50;

export type ResealedStore = Pick<Store, "assetSettings" | "fleets" | "simCredentials" | "alertSettings">;

export interface Resealed {
  readonly variables: number;
  readonly revisions: number;
  /** Of accounts at SIM operators. */
  readonly credentials: number;
  /** Of alerts. */
  readonly channels: number;
}

/**
 * Seals everything with `key` that another key seals, while services change it. Returns how many values it has sealed. Throws
 * `UnsealError` if one of them cannot be opened; those before it stay as they are sealed.
 */
export async function reseal(store: ResealedStore, key: SealingKey, others: readonly SealingKey[]): Promise<Resealed> {
  const sealer = new AesSealer(key, others);
  return {
    variables: await resealVariables(store, key.id, sealer),
    revisions: await resealRevisions(store, key.id, sealer),
    credentials: await resealCredentials(store, key.id, sealer),
    channels: await resealChannels(store, key.id, sealer),
  };
}

async function resealVariables({ assetSettings }: ResealedStore, keyId: string, sealer: AesSealer): Promise<number> {
  for (let count = 0; ;) {
    const variables = await assetSettings.listVariablesNotSealedBy(keyId, BATCH);
    if (variables.length === 0) return count;
    for (const variable of variables) {
      const { assetUuid, name, sealed } = variable;
      const purpose = variablePurpose(assetUuid, name);
      const after = sealer.seal(sealer.open(variable, purpose), purpose);
      // One that was changed meanwhile is in the next list, unless it has the new key by now.
      if (await assetSettings.resealVariable(assetUuid, name, sealed, after)) count++;
    }
  }
}

async function resealRevisions({ fleets }: ResealedStore, keyId: string, sealer: AesSealer): Promise<number> {
  for (let count = 0; ;) {
    const revisions = await fleets.listRevisionsNotSealedBy(keyId, BATCH);
    if (revisions.length === 0) return count;
    for (const stored of revisions) {
      const { fleetId, number } = stored.revision;
      const purpose = revisionPurpose(fleetId, number);
      const after = sealer.seal(sealer.open(stored, purpose), purpose);
      if (await fleets.resealRevision(fleetId, number, stored.sealed, after)) count++;
    }
  }
}

async function resealCredentials({ simCredentials }: ResealedStore, keyId: string, sealer: AesSealer): Promise<number> {
  for (let count = 0; ;) {
    const stored = await simCredentials.listCredentialsNotSealedBy(keyId, BATCH);
    if (stored.length === 0) return count;
    for (const credentials of stored) {
      const { accountId, type, sealed } = credentials;
      const purpose = credentialsPurpose(accountId, type);
      const after = sealer.seal(sealer.open(credentials, purpose), purpose);
      if (await simCredentials.resealCredentials(accountId, type, sealed, after)) count++;
    }
  }
}

async function resealChannels({ alertSettings }: ResealedStore, keyId: string, sealer: AesSealer): Promise<number> {
  for (let count = 0; ;) {
    const channels = await alertSettings.listChannelsNotSealedBy(keyId, BATCH);
    if (channels.length === 0) return count;
    for (const channel of channels) {
      const { accountId, name, sealed } = channel;
      const purpose = channelPurpose(accountId, name);
      const after = sealer.seal(sealer.open(channel, purpose), purpose);
      if (await alertSettings.resealChannel(accountId, name, sealed, after)) count++;
    }
  }
}
