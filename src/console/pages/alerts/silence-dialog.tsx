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

const HOUR_S = 3600;
const LENGTHS = [
  { value: String(HOUR_S), label: "an hour" },
  { value: String(4 * HOUR_S), label: "4 hours" },
  { value: String(12 * HOUR_S), label: "12 hours" },
  { value: String(24 * HOUR_S), label: "a day" },
  { value: String(7 * 24 * HOUR_S), label: "a week" },
  { value: "until", label: "until a time of mine" },
];

interface Props {
  /** What is to be silenced; closed without. */
  readonly condition: AlertCondition | undefined;
  readonly onClose: () => void;
}

/** Asks for how long, and why, nothing is to be told of a condition. */
export function SilenceDialog({ condition, onClose }: Props): ReactNode {
  return (
    <Dialog isOpen={condition !== undefined} onClose={onClose} label="Silence alerts">
      {condition && <SilenceForm condition={condition} onDone={onClose} />}
    </Dialog>
  );
}

interface FormProps {
  readonly condition: AlertCondition;
  readonly onDone: () => void;
}

function SilenceForm({ condition, onDone }: FormProps): ReactNode {
  const isOfAssets = ALERT_CONDITIONS[condition].subject === "asset";
  const [isOnlyThis, setOnlyThis] = useState(true);
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
          selector,
          ...(isOnlyThis && { conditions: [condition] }),
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
      canSubmit={reason.trim() !== "" && selector.trim() !== "" && (length !== "until" || until !== "")}
      onSubmit={() => silence.mutate()}
    >
      <Text size="sm">
        Nothing is told of these alerts until the silence ends; what still fires then is told then. The alerts stay in
        the list.
      </Text>
      <Checkbox
        label={`Only “${conditionTitle(condition)}”, not every condition`}
        checked={isOnlyThis}
        onChange={({ currentTarget }) => setOnlyThis(currentTarget.checked)}
      />
      {isOfAssets && (
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
