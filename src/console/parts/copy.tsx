/** Buttons that copy a text and say that they did. */
import { useState } from 'preact/hooks';
import type { Operation, Requests } from '../../browser.ts';
import { hasToken, server, takesMoment } from '../data/connection.ts';
import { curlOf } from '../data/curl.ts';
import { moment } from '../data/route.ts';

function Copy({ text, label }: { text: string; label: string }) {
  const [says, setSays] = useState(label);
  const copy = async (): Promise<void> => {
    try {
      await write(text);
      setSays('Copied');
    } catch {
      setSays('The browser refused');
    }
    setTimeout(() => setSays(label), 1_500);
  };
  return (
    <button type="button" class="quiet" title={text} onClick={() => void copy()}>
      {says}
    </button>
  );
}

/** A page over plain HTTP from another machine has no `navigator.clipboard`. */
async function write(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (!isCopied) throw new Error('The browser did not copy.');
}

/** Copies the curl command for the displayed data. */
export function CopyCurl<Op extends Operation>({ op, request }: { op: Op; request: Requests[Op] }) {
  const asked = takesMoment(op) ? { ...request, ...moment.value } : request;
  return <Copy label="Copy as curl" text={curlOf(op, asked, { server, hasToken: hasToken.value })} />;
}
