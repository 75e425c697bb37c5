import {
  useMutation,
  type UseMutationResult,
  useQuery,
  useQueryClient,
  type UseQueryResult,
} from "@tanstack/react-query";
import type { AlertSettings, AlertSettingsDefinition, ReplacedAlertSettings } from "../../../protocol/api-types.ts";
import { call, send } from "../../api/client.ts";
import { ApiFailure, toFailure } from "../../api/failure.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission } from "../../api/session.ts";

/** What the account says about alerts, with the tag by which a change of another person is noticed. */
export interface ReadSettings {
  readonly settings: AlertSettings;
  readonly tag: string;
}

export type Definition = Required<AlertSettingsDefinition>;

/** Only admins may see the settings: they have mail addresses of people. */
export function useAlertSettings(): UseQueryResult<ReadSettings> {
  const maySee = usePermission("settings.manage");
  return useQuery({
    queryKey: KEYS.alertSettings,
    queryFn: async ({ signal }) => {
      const response = await send("GET /v1/alert-settings", { signal });
      const settings = (await response.json()) as AlertSettings;
      return { settings, tag: response.headers.get("etag") ?? "*" };
    },
    enabled: maySee,
  });
}

/** Returns the settings as they can be sent back: what is secret stays as it is. */
function definitionOf({ rules, routes, channels }: AlertSettings): Definition {
  // A channel is read with its kind, and mails with who gets them: all that has to be said of one that stays.
  return { rules, routes, channels: channels as Definition["channels"] };
}

/** Returns the entries without this one. */
export function without<T>(entries: Readonly<Record<string, T>>, name: string): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).filter(([key]) => key !== name));
}

/** A change of the settings, given as they are now. */
export type SettingsChange = (now: Definition) => Definition;

/**
 * Carries out a change of the settings as the page shows them. If another person has changed them meanwhile, nothing is changed, and
 * the page shows what there is now.
 */
export function useChangeSettings({
  settings,
  tag,
}: ReadSettings): UseMutationResult<ReplacedAlertSettings, Error, SettingsChange> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (change) => {
      try {
        return await call("PUT /v1/alert-settings", {
          headers: { "if-match": tag },
          body: change(definitionOf(settings)),
        });
      } catch (error) {
        throw inWords(toFailure(error));
      }
    },
    onSettled: () => client.invalidateQueries({ queryKey: KEYS.alertSettings }),
  });
}

/** The response to a change that came too late has the settings as they are now, which the page shows itself. */
function inWords(failure: ApiFailure): ApiFailure {
  if (failure.code !== "PreconditionFailed") return failure;
  const message =
    "Another person has changed these settings since you opened them, so nothing was saved. The page shows them as they are now: look, and save again.";
  return new ApiFailure(failure.code, message, failure.status);
}
