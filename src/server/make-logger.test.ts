// How a fault is written into the server's log.
import { describe, expect, it } from 'vitest';
import { faultFields } from './make-logger.ts';

const AWAY = Object.assign(new Error('connect ECONNREFUSED 10.0.0.9:5432'), { code: 'ECONNREFUSED' });

describe('a fault in the log of a server', () => {
  it('has the message of its cause once', () => {
    const fault = new Error(`The log cannot be read now: ${AWAY.message}.`, { cause: AWAY });
    expect(faultFields(fault)).toMatchObject({ type: 'Error', message: fault.message });
    expect((faultFields(fault) as { stack: string }).stack).toContain('caused by: ');
  });

  it('has that of a cause which it does not name itself', () => {
    const fault = new TypeError('The log is lost.', { cause: new Error('A write failed.', { cause: AWAY }) });
    expect(faultFields(fault)).toMatchObject({
      type: 'TypeError',
      message: 'The log is lost.: A write failed.: connect ECONNREFUSED 10.0.0.9:5432',
    });
    expect(faultFields(AWAY)).toMatchObject({ message: AWAY.message, code: 'ECONNREFUSED' });
  });

  it('is left as it is when it is no error', () => {
    expect(faultFields('cut')).toBe('cut');
  });
});
