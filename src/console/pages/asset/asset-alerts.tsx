import { useQuery } from "@tanstack/react-query";
import { Box, Button, Title } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Link } from "react-router";
import type { Silence } from "../../../protocol/api-types.ts";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission } from "../../api/session.ts";
import { Age } from "../../parts/age.tsx";
import { conditionTitle } from "../../parts/alert-words.ts";
import { Note } from "../../parts/note.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { AlertTable } from "../alerts/alert-list.tsx";
import { SilenceDialog } from "../alerts/silence-dialog.tsx";
import { EndButton } from "../alerts/silences.tsx";

/** Silences that the page of an asset shows. */
const MAX_SHOWN = 3;

/** The alerts of the asset that fire; nothing if there are none. */
export function AssetAlerts({ assetId }: { readonly assetId: string }): ReactNode {
  const mayRead = usePermission("alerts.read");
  const { data } = useQuery({
    queryKey: [...KEYS.alerts, "of-asset", assetId],
    queryFn: ({ signal }) => call("GET /v1/alerts", { query: { asset: assetId }, signal }),
    enabled: mayRead,
  });
  if (!data || data.alerts.length === 0) return null;
  return (
    <Box component="section" aria-labelledby="open-alerts" mb="md">
      <Title order={2} id="open-alerts" mb="xs">
        Open alerts
      </Title>
      <AlertTable label="Open alerts" alerts={data.alerts} isOfAsset />
    </Box>
  );
}

/** Silences every alert of the asset, as before work at its site; nothing for who may not. */
export function SilenceAsset({
  asset,
}: {
  readonly asset: { readonly uuid: string; readonly name: string };
}): ReactNode {
  const mayManage = usePermission("alerts.manage");
  const [isOpen, setOpen] = useState(false);
  if (!mayManage) return null;
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        Silence alerts
      </Button>
      <SilenceDialog
        silenced={isOpen ? { asset: { id: asset.uuid, name: asset.name } } : undefined}
        onClose={() => setOpen(false)}
      />
    </>
  );
}

/** Says that alerts of the asset are silenced, why, and until when; nothing if none are. */
export function SilenceBanner({ assetId }: { readonly assetId: string }): ReactNode {
  const mayRead = usePermission("alerts.read");
  const { data } = useQuery({
    queryKey: [...KEYS.silences, "of-asset", assetId],
    queryFn: ({ signal }) => call("GET /v1/silences", { query: { asset: assetId, limit: String(MAX_SHOWN) }, signal }),
    enabled: mayRead,
  });
  if (!data || data.silences.length === 0) return null;
  return (
    <Box mb="md">
      <Note kind="warn" title="Alerts of this asset are silenced: no person is notified.">
        {data.silences.map((silence) => (
          <OneSilence key={silence.id} silence={silence} />
        ))}
        {data.next_cursor !== null && <Link to="/alerts?view=silences">All silences</Link>}
      </Note>
    </Box>
  );
}

function OneSilence({ silence }: { readonly silence: Silence }): ReactNode {
  const { reason, conditions, created_by: by, until, asset } = silence;
  const mayManage = usePermission("alerts.manage");
  return (
    <div>
      <SafeText text={reason} max={256} />:{" "}
      {conditions === null ? "every condition" : conditions.map(conditionTitle).join(", ")}, by{" "}
      <SafeText text={by} max={80} />; it ends <Age at={until} />.{" "}
      {asset === null ? (
        <>
          It is about <Link to="/alerts?view=silences">other assets</Link>, too.
        </>
      ) : (
        mayManage && <EndButton silence={silence} />
      )}
    </div>
  );
}
