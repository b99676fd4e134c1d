"""placeholder until the learned prior is merged"""
import dataclasses, math
import numpy as np
from ._power_law import fit_power_law
from ._result import Interval

@dataclasses.dataclass(frozen=True)
class Forecast:
    law: object
    def _at(self, n):
        d=self.law.draws; v=d[:,0]*n**-d[:,1]+d[:,2]; l=self.law
        return l.scale*n**-l.exponent+l.floor, np.quantile(v,.05), np.quantile(v,.95)
    def error(self,n,level=.9): 
        a,b,c=self._at(n); return Interval(float(a),float(min(a,b)),float(max(a,c)))
    def samples(self,error,level=.9):
        return Interval(*[float(v) for v in self.law.samples(error)])
    def floor(self,level=.9):
        f=self.law.draws[:,2]; return Interval(float(self.law.floor),float(np.quantile(f,.05)),float(np.quantile(f,.95)))

def forecast(sizes, measured, se, *, baseline=None, theory=None):
    return Forecast(fit_power_law(np.asarray(sizes,float), np.maximum(measured,1e-6), np.asarray(se)))
