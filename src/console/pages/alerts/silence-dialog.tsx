import { Checkbox, NativeSelect, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { ALERT_CONDITIONS, type AlertCondition } from "../../../protocol/alerts/condition.ts";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { serverNow } from "../../api/reachability.ts";
import { conditionTitle } from "../../parts/alert-words.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { SafeText } from "../../parts/safe-text.tsx";

const HOUR_S = 3600;
const LENGTHS = [
  { value: String(HOUR_S), label: "an hour" },
  { value: String(4 * HOUR_S), label: "4 hours" },
  { value: String(12 * HOUR_S), label: "12 hours" },
  { value: String(24 * HOUR_S), label: "a day" },
  { value: String(7 * 24 * HOUR_S), label: "a week" },
  { value: "until", label: "until a time of mine" },
];

/** What a silence is proposed for. */
export interface Silenced {
  /** Absent: every condition of the asset. */
  readonly condition?: AlertCondition;
  /** Absent: assets with some tags. */
  readonly asset?: { readonly id: string; readonly name: string } | undefined;
}

interface Props {
  /** Closed without. */
  readonly silenced: Silenced | undefined;
  readonly onClose: () => void;
}

/** Asks for how long, and why, nothing is to be told of some alerts. */
export function SilenceDialog({ silenced, onClose }: Props): ReactNode {
  return (
    <Dialog isOpen={silenced !== undefined} onClose={onClose} label="Silence alerts">
      {silenced && <SilenceForm {...silenced} onDone={onClose} />}
    </Dialog>
  );
}

interface FormProps extends Silenced {
  readonly onDone: () => void;
}

function SilenceForm({ condition, asset, onDone }: FormProps): ReactNode {
  const isOfAssets = condition === undefined || ALERT_CONDITIONS[condition].subject === "asset";
  const [isOnlyThis, setOnlyThis] = useState(condition !== undefined);
  const [isOnlyAsset, setOnlyAsset] = useState(asset !== undefined);
  // No default for assets: all of them are rarely meant.
  const [selector, setSelector] = useState(isOfAssets ? "" : "*");
  const [length, setLength] = useState(String(HOUR_S));
  const [until, setUntil] = useState("");
  const [reason, setReason] = useState("");
  const client = useQueryClient();
  const silence = useMutation({
    mutationFn: () =>
      call("POST /v1/silences", {
        body: {
          reason,
          until:
            length === "until"
              ? Math.floor(new Date(until).getTime() / 1000)
              : Math.floor(serverNow() / 1000) + Number(length),
          ...(asset && isOnlyAsset ? { asset: asset.id } : { selector }),
          ...(condition && isOnlyThis && { conditions: [condition] }),
        },
      }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: KEYS.silences });
      onDone();
    },
  });
  return (
    <Form
      action="Silence"
      isPending={silence.isPending}
      error={silence.error}
      canSubmit={
        reason.trim() !== "" && (isOnlyAsset || selector.trim() !== "") && (length !== "until" || until !== "")
      }
      onSubmit={() => silence.mutate()}
    >
      <Text size="sm">
        Nothing is told of these alerts until the silence ends; what still fires then is told then. The alerts stay in
        the list.
      </Text>
      {condition && (
        <Checkbox
          label={`Only “${conditionTitle(condition)}”, not every condition`}
          checked={isOnlyThis}
          onChange={({ currentTarget }) => setOnlyThis(currentTarget.checked)}
        />
      )}
      {asset && (
        <Checkbox
          label={
            <>
              Only <SafeText text={asset.name} max={120} />, not other assets
            </>
          }
          checked={isOnlyAsset}
          onChange={({ currentTarget }) => setOnlyAsset(currentTarget.checked)}
        />
      )}
      {isOfAssets && !isOnlyAsset && (
        <TextInput
          label="Assets"
          description="Those with these tags, or * for all of the account."
          placeholder="site=pump-7"
          value={selector}
          spellCheck={false}
          autoComplete="off"
          onChange={({ currentTarget }) => setSelector(currentTarget.value)}
        />
      )}
      <NativeSelect
        label="For how long"
        data={LENGTHS}
        value={length}
        onChange={({ currentTarget }) => setLength(currentTarget.value)}
      />
      {length === "until" && (
        <TextInput
          type="datetime-local"
          label="Until"
          description="In this browser's time zone."
          value={until}
          onChange={({ currentTarget }) => setUntil(currentTarget.value)}
        />
      )}
      <TextInput
        label="Reason"
        description="For the others, who see the silence."
        placeholder="Works at the pump until Thursday"
        maxLength={256}
        value={reason}
        onChange={({ currentTarget }) => setReason(currentTarget.value)}
      />
    </Form>
  );
}
